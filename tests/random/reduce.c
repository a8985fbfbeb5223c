// The shrinker. An edit is tried on a copy and kept if the copy is fit, is smaller, and fails as
// the original did: the same kind of outcome, and for errors the same kind of message. Edits go
// from coarse to fine: statements, blocks in place of what holds them, expressions, extents, the
// launch.
#include "reduce.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 30 };

// --- trying

static void child(runner *warm, const char *device, const program *p, const memory *want,
                  const variant *v, char *why, size_t size) {
    runner own = {0};
    if (!freopen("/dev/null", "w", stderr))
        _exit(RUN_OK);
    alarm(CHILD_SECONDS);
    if (!warm && runner_open(&own, device, why, size))
        _exit(RUN_LAUNCH);
    _exit((int)run_program(warm ? warm : &own, p, want, v, why, size));
}

outcome run_guarded(runner *warm, const char *device, const program *p, const variant *v,
                    sabotage broken, char *why, size_t size) {
    memory want;
    memory_fill(p, &want);
    bool fit = evaluate(p, &want, SABOTAGE_NONE).kind == V_FIT;
    if (fit && broken) {
        memory_free(&want);
        memory_fill(p, &want);
        evaluate(p, &want, broken);
    }
    outcome out = RUN_OK;
    char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fit && shared != MAP_FAILED ? fork() : -1;
    if (pid == 0)
        child(warm, device, p, &want, v, shared, size);
    if (pid > 0) {
        int status;
        waitpid(pid, &status, 0);
        out = WIFEXITED(status)             ? (outcome)WEXITSTATUS(status)
              : WTERMSIG(status) == SIGALRM ? RUN_TIMEOUT
                                            : RUN_CRASH;
        if (out > RUN_TIMEOUT)
            out = RUN_CRASH;
        snprintf(why, size, "%s", shared);
        if (out == RUN_CRASH)
            snprintf(why, size, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    if (shared != MAP_FAILED)
        munmap(shared, size);
    memory_free(&want);
    return out;
}

typedef struct reducer {
    program *best;
    failure *f;
    const char *device;
    runner warm; ///< on cpu: children are forked with the compiler loaded
    sabotage broken;
    double end;
    bool progress;
} reducer;

static bool time_over(const reducer *r) { return now() > r->end; }

/// Errors are the same kind if their words are, up to names and numbers.
static bool same_message(outcome kind, const char *a, const char *b) {
    if (kind != RUN_COMPILE && kind != RUN_LAUNCH)
        return true;
    const char *x = strstr(a, "error: "), *y = strstr(b, "error: ");
    a = x ? x : a;
    b = y ? y : b;
    for (int i = 0; i < 24 && a[i] && a[i] == b[i]; i++)
        if (a[i] == '\'' || a[i] == '%' || isdigit((unsigned char)a[i]))
            return true;
    return strncmp(a, b, 24) == 0;
}

/// Keeps the copy if it still fails; destroys it if not.
static bool try_copy(reducer *r, program *copy) {
    char why[sizeof r->f->message];
    outcome o = run_guarded(r->warm.open[0] ? &r->warm : NULL, r->device, copy, &r->f->variant,
                            r->broken, why, sizeof why);
    if (o != r->f->kind || !same_message(o, why, r->f->message)) {
        program_destroy(copy);
        return false;
    }
    memcpy(r->f->message, why, sizeof why);
    program_destroy(r->best);
    r->best = copy;
    r->progress = true;
    return true;
}

// --- blocks, by number

typedef struct block_search {
    int left;
    block *found;
} block_search;

static void find_block(block *b, void *ctx) {
    block_search *s = ctx;
    if (s->left-- == 0)
        s->found = b;
}

static block *nth_block(program *p, int n) {
    block_search s = {.left = n};
    walk_blocks(p, find_block, &s);
    return s.found;
}

static void remove_range(block *b, int at, int count) {
    memmove(&b->at[at], &b->at[at + count], (size_t)(b->count - at - count) * sizeof(*b->at));
    b->count -= count;
}

/// Removes runs of statements, long ones first.
static void drop_statements(reducer *r) {
    for (int n = 0; nth_block(r->best, n); n++)
        for (int run = nth_block(r->best, n)->count; run > 0; run /= 2)
            for (int at = nth_block(r->best, n)->count - run; at >= 0 && !time_over(r); at -= run) {
                program *copy = program_clone(r->best);
                block *b = nth_block(copy, n);
                if (at + run > b->count) {
                    program_destroy(copy);
                    continue;
                }
                remove_range(b, at, run);
                try_copy(r, copy);
            }
}

/// Puts what a statement holds in its place: the body of a loop (its variable assigned before), of
/// an if.
static bool unwrap(program *p, block *b, int at, bool other) {
    stmt *s = b->at[at];
    block inner = other ? s->other : s->body, out = {0};
    if (s->kind < S_IF || s->kind == S_RETURN || s->kind == S_CONTINUE ||
        (other && s->kind != S_IF) || s->kind == S_STATIC_FOR)
        return false;
    for (int i = 0; i < at; i++)
        block_add(p, &out, b->at[i]);
    if (s->kind == S_FOR) {
        stmt *a = new_stmt(p, S_ASSIGN);
        a->target[0] = s->target[0];
        a->num_targets = 1;
        a->e[0] = s->e[0];
        block_add(p, &out, a);
    }
    for (int i = 0; i < inner.count; i++)
        block_add(p, &out, inner.at[i]);
    for (int i = at + 1; i < b->count; i++)
        block_add(p, &out, b->at[i]);
    *b = out;
    return true;
}

static void unwrap_statements(reducer *r) {
    for (int n = 0; nth_block(r->best, n); n++)
        for (int at = 0; at < nth_block(r->best, n)->count; at++)
            for (int other = 0; other < 2 && !time_over(r); other++) {
                program *copy = program_clone(r->best);
                if (at < nth_block(copy, n)->count && unwrap(copy, nth_block(copy, n), at, other))
                    try_copy(r, copy);
                else
                    program_destroy(copy);
            }
}

// --- expressions, by number

typedef struct node_search {
    int left;
    node **found;
} node_search;

static void find_node(node **n, void *ctx) {
    node_search *s = ctx;
    if (s->left-- == 0)
        s->found = n;
}

static node **nth_node(program *p, int n) {
    node_search s = {.left = n};
    walk_nodes(p, find_node, &s);
    return s.found;
}

static int size_of(const node *n) {
    int size = n ? 1 : 0;
    for (int i = 0; n && i < MAX_KIDS; i++)
        size += size_of(n->kid[i]);
    return size;
}

/// The k-th way to make an expression smaller; false if there is none. 0, 1: a constant; then what
/// it is made of; then the optional parts of a load.
static bool shrink_node(program *p, node **at, int k, bool *done) {
    node *n = *at;
    *done = k >= 2 + MAX_KIDS + 2;
    if (k < 2) {
        bool literal = n->kind == N_NUM, constant = n->kind == N_FULL && n->kid[0]->kind == N_NUM;
        if (n->type.elem >= NUM_ELEMS || literal || constant ||
            (n->kind == N_VAR && p->vars[n->id].constant))
            return false;
        *at = new_full(p, n->type, k);
        return true;
    }
    if (k < 2 + MAX_KIDS) {
        node *kid = n->kid[k - 2];
        if (!kid || is_weak(p, kid) || !same_type(kid->type, n->type))
            return false;
        *at = kid;
        return true;
    }
    int part = k == 2 + MAX_KIDS ? 2 : 1;
    if (*done || n->kind != N_LOAD || !n->kid[part] || (part == 1 && n->kid[2]))
        return false;
    n->kid[part] = NULL;
    return true;
}

static void shrink_expressions(reducer *r) {
    for (int i = 0; nth_node(r->best, i); i++)
        for (int k = 0; !time_over(r); k++) {
            program *copy = program_clone(r->best);
            node **at = nth_node(copy, i);
            bool done = !at || combine_of(copy, *at); // which would depend on the order
            int before = at ? size_of(*at) : 0;
            bool changed = at && !done && shrink_node(copy, at, k, &done);
            // A constant is tried in place of a name as well, but not the other way round.
            bool smaller = changed && (size_of(*at) < before || before == 1);
            if (smaller && try_copy(r, copy)) {
                k = -1;
                if ((*nth_node(r->best, i))->kind == N_FULL)
                    break;
                continue;
            }
            if (!smaller)
                program_destroy(copy);
            if (done)
                break;
        }
}

/// Masks of stores.
static void drop_masks(reducer *r) {
    for (int n = 0; nth_block(r->best, n); n++)
        for (int at = 0; at < nth_block(r->best, n)->count && !time_over(r); at++) {
            stmt *s = nth_block(r->best, n)->at[at];
            if ((s->kind != S_STORE && s->kind != S_ATOMIC) || !s->e[2])
                continue;
            program *copy = program_clone(r->best);
            nth_block(copy, n)->at[at]->e[2] = NULL;
            try_copy(r, copy);
        }
}

// --- extents and the launch

static void halve(type *t, uint32_t extents) {
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] > 1 && extents & t->dim[d])
            t->dim[d] /= 2;
}

static void halve_node(node **n, void *ctx) { halve(&(*n)->type, *(uint32_t *)ctx); }

/// Halves all extents whose bits are in the mask, everywhere.
static bool try_halved(reducer *r, uint32_t extents) {
    program *copy = program_clone(r->best);
    walk_nodes(copy, halve_node, &extents);
    for (int i = 0; i < copy->num_vars; i++)
        halve(&copy->vars[i].type, extents);
    memory m;
    memory_fill(copy, &m);
    bool fit = evaluate(copy, &m, SABOTAGE_NONE).kind == V_FIT;
    memory_free(&m);
    if (fit)
        return try_copy(r, copy);
    program_destroy(copy);
    return false;
}

static void collect_extents(node **n, void *ctx) {
    for (int d = 0; d < (*n)->type.rank; d++)
        *(uint32_t *)ctx |= (*n)->type.dim[d];
}

static void shrink_extents(reducer *r) {
    uint32_t all = 0;
    walk_nodes(r->best, collect_extents, &all);
    for (uint32_t a = 1u << 13; a > 1; a /= 2)
        for (uint32_t b = a; b > 1; b /= 2)
            for (uint32_t c = b; c > 1 && !time_over(r); c /= 2)
                if (!((a | b | c) & ~all) && try_halved(r, a | b | c))
                    return;
}

static void simplify_launch(reducer *r) {
    for (int k = 0; k < 3 + 3 * r->best->num_buffers && !time_over(r); k++) {
        program *copy = program_clone(r->best);
        int b = k / 3 - 1;
        uint64_t before = 0, after = 0;
        if (k < 3) {
            before = copy->grid[k];
            after = copy->grid[k] = 1;
            copy->num_programs = copy->grid[0] * copy->grid[1] * copy->grid[2];
        } else {
            uint8_t *field[] = {&copy->buffers[b].shift, (uint8_t *)&copy->buffers[b].is_const,
                                &copy->buffers[b].fill};
            before = *field[k % 3];
            after = *field[k % 3] = 0;
        }
        if (before != after)
            try_copy(r, copy);
        else
            program_destroy(copy);
    }
}

// --- what nothing uses

static void mark_buffer(node **n, void *ctx) {
    if ((*n)->type.elem == T_PTR)
        ((bool *)ctx)[(*n)->type.buf] = true;
}

static void renumber(type *t, const int *to) {
    if (t->elem == T_PTR)
        t->buf = (uint8_t)to[t->buf];
}

static void renumber_node(node **n, void *ctx) {
    const int *to = ctx;
    renumber(&(*n)->type, to);
    if ((*n)->kind == N_BASE)
        (*n)->id = (int16_t)to[(*n)->id];
    if ((*n)->kind == N_NUM)
        (*n)->id = 0; // a constexpr parameter becomes its value
}

/// Buffers and parameters that the text does not name any more. Contents change with a buffer's
/// number, so this is a candidate like any other.
static void drop_unused(reducer *r) {
    program *copy = program_clone(r->best);
    bool used[MAX_BUFFERS] = {0};
    int to[MAX_BUFFERS], kept = 0;
    walk_nodes(copy, mark_buffer, used);
    for (int i = 0; i < copy->num_buffers; i++)
        if (used[i])
            used[copy->buffers[i].storage] = true;
    for (int i = 0; i < copy->num_buffers; i++) {
        to[i] = kept;
        if (used[i]) {
            copy->buffers[kept] = copy->buffers[i];
            copy->buffers[kept].storage = (uint8_t)to[copy->buffers[i].storage];
            kept++;
        }
    }
    copy->num_buffers = kept;
    walk_nodes(copy, renumber_node, to);
    for (int i = 0; i < copy->num_vars; i++)
        renumber(&copy->vars[i].type, to);
    copy->num_consts = 0;
    if (kept < r->best->num_buffers || r->best->num_consts)
        try_copy(r, copy);
    else
        program_destroy(copy);
}

program *reduce_failure(const program *p, failure *f, const char *device, sabotage broken,
                        double seconds) {
    reducer r = {.best = program_clone(p),
                 .f = f,
                 .device = device,
                 .broken = broken,
                 .end = now() + seconds};
    char message[200];
    if (strncmp(device, "cpu", 3) == 0)
        runner_open(&r.warm, device, message, sizeof message);
    do {
        r.progress = false;
        drop_statements(&r);
        unwrap_statements(&r);
        shrink_expressions(&r);
        drop_masks(&r);
        shrink_extents(&r);
        simplify_launch(&r);
        drop_unused(&r);
    } while (r.progress && !time_over(&r));
    if (r.warm.open[0])
        runner_close(&r.warm);
    return r.best;
}
