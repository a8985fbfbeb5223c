// Runs a function over its points and compares with the reference, on all processors: chunk by
// chunk the operands are made, the kernel runs, and the errors are taken.
#include "accuracy.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

unsigned processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

// ---------------------------------------------------------------------------- one result

/// The error of one result in ulp, from the rounded value where that is the bound. *ok: within the
/// bound; *usual: the result is an ordinary number.
static double judge(const function *f, number_type t, bound b, const double *operands, double got,
                    bool *ok, bool *usual) {
    long double want = t == FP64 ? f->wide(operands) : (long double)f->narrow(operands);
    double nearest = t == FP64 ? (double)want : round_to(t, (double)want);
    if (b.ulp == ROUNDED) // the reference for fp64 is rounded already: the same measure for all
        want = nearest;
    *usual = nearest != 0 && isfinite(nearest);
    *ok = true;
    if ((f->flags & FLUSHES_BELOW) && got == 0 &&
        fabsl(want) < (t == FP64 ? 0x1p-1022L : 0x1p-126L)) {
        *usual = false;
        return 0;
    }
    double error = t == FP64 ? ulps_wide(got, want) : ulps(t, got, (double)want);
    double terms = f->terms ? f->terms(operands) : 0;
    if (isfinite(terms) && isfinite(got) && terms > fabsl(want))
        error = (double)ldexpl(fabsl(got - want), (t == FP64 ? 52 : 23) - ilogb(terms));
    double slope = isfinite(operands[0]) ? b.slope * fabs(operands[0]) : 0;
    *ok = error <= (b.ulp == ROUNDED ? 0 : b.ulp + slope);
    return error;
}

static double number_at(const session *s, unsigned k, number_type t, uint64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, s->host[k] + i * type_bytes(t), type_bytes(t)); // little-endian
    return number_of(t, bits);
}

static double operands_at(const session *s, const function *f, number_type t, uint64_t i,
                          double operands[MAX_OPERANDS]) {
    for (unsigned k = 0; k < MAX_OPERANDS; k++)
        operands[k] = k < f->operands ? number_at(s, k, t, i) : 0;
    return number_at(s, MAX_OPERANDS, result_type(f, t), i);
}

// ---------------------------------------------------------------------------- a thread's share

typedef struct share {
    const session *session;
    const function *f;
    number_type t;
    unsigned log2_points;
    uint64_t chunk, from, to; ///< the chunk's first point; a range within it
    outcome result;
} share;

static void *make_operands(void *data) {
    share *w = data;
    size_t bytes = type_bytes(w->t);
    for (uint64_t i = w->from; i < w->to; i++) {
        uint64_t bits[MAX_OPERANDS];
        point(w->f, w->t, w->log2_points, w->chunk + i, bits);
        for (unsigned k = 0; k < MAX_OPERANDS && k < w->f->operands; k++)
            memcpy(w->session->host[k] + i * bytes, &bits[k], bytes);
    }
    return NULL;
}

static void *measure(void *data) {
    share *w = data;
    outcome *r = &w->result;
    number_type type = result_type(w->f, w->t);
    bound b = bound_of(w->f, type, w->session->info.is_cuda);
    *r = (outcome){.points = w->to - w->from, .worst = -1};
    for (uint64_t i = w->from; i < w->to; i++) {
        double operands[MAX_OPERANDS], got = operands_at(w->session, w->f, w->t, i, operands);
        bool ok, usual;
        double error = judge(w->f, type, b, operands, got, &ok, &usual);
        if (error > r->worst) {
            r->worst = error;
            memcpy(r->worst_at, operands, sizeof(operands));
        }
        if (!ok && !r->wrong++) {
            memcpy(r->wrong_at, operands, sizeof(operands));
            r->wrong_result = got;
        }
        r->sum += usual ? error : 0;
        r->counted += usual;
    }
    return NULL;
}

static void in_threads(unsigned n, void *(*work)(void *), share *shares) {
    pthread_t threads[MAX_THREADS];
    for (unsigned i = 1; i < n; i++) {
        if (pthread_create(&threads[i], NULL, work, &shares[i])) {
            fprintf(stderr, "accuracy: no thread: %s\n", strerror(errno));
            exit(2);
        }
    }
    work(&shares[0]);
    for (unsigned i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void merge(outcome *into, const outcome *from) {
    if (from->worst > into->worst) {
        into->worst = from->worst;
        memcpy(into->worst_at, from->worst_at, sizeof(from->worst_at));
    }
    if (from->wrong && !into->wrong) {
        memcpy(into->wrong_at, from->wrong_at, sizeof(from->wrong_at));
        into->wrong_result = from->wrong_result;
    }
    into->points += from->points;
    into->wrong += from->wrong;
    into->sum += from->sum;
    into->counted += from->counted;
}

// ---------------------------------------------------------------------------- all points

outcome sweep(session *s, tile_kernel *kernel, const function *f, number_type t,
              unsigned log2_points) {
    uint64_t total = point_count(f, t, log2_points);
    unsigned threads = processors();
    outcome all = {.worst = -1};
    for (uint64_t chunk = 0; chunk < total; chunk += CHUNK) {
        uint64_t n = total - chunk < CHUNK ? total - chunk : CHUNK;
        share shares[MAX_THREADS];
        for (unsigned i = 0; i < threads; i++)
            shares[i] = (share){.session = s,
                                .f = f,
                                .t = t,
                                .log2_points = log2_points,
                                .chunk = chunk,
                                .from = n * i / threads,
                                .to = n * (i + 1) / threads};
        in_threads(threads, make_operands, shares);
        session_run(s, kernel, f->operands, type_names[t], type_names[result_type(f, t)], n);
        in_threads(threads, measure, shares);
        for (unsigned i = 0; i < threads; i++)
            merge(&all, &shares[i].result);
    }
    return all;
}

uint64_t check_specials(session *s, tile_kernel *kernel, const function *f, number_type t) {
    uint64_t n = special_count(f), wrong = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits[MAX_OPERANDS];
        special(f, t, i, bits);
        for (unsigned k = 0; k < MAX_OPERANDS && k < f->operands; k++)
            memcpy(s->host[k] + i * type_bytes(t), &bits[k], type_bytes(t));
    }
    number_type type = result_type(f, t);
    session_run(s, kernel, f->operands, type_names[t], type_names[type], n);
    for (uint64_t i = 0; i < n; i++) {
        double v[MAX_OPERANDS], got = operands_at(s, f, t, i, v);
        double want = type == FP64 ? (double)f->wide(v) : round_to(type, f->narrow(v));
        bool ok, usual;
        judge(f, type, bound_of(f, type, s->info.is_cuda), v, got, &ok, &usual);
        bool exact = want == 0 ? got != 0 || same(got, want) : isfinite(want) || same(got, want);
        if ((ok && exact) || wrong++ >= 3)
            continue;
        fprintf(stderr, "%s %s of %g, %g, %g is %g, expected %g\n", type_names[t], f->name, v[0],
                v[1], v[2], got, want);
    }
    return wrong;
}
