// Random programs against the compiler. Each seed is a program; each is run in several ways on a
// device and compared with an evaluator of its own. Worker processes take seeds; what fails,
// crashes or does not end is reduced and printed with its launch and the first difference. See
// docs/testing.md.
#include "coverage.h"
#include "generate.h"
#include "reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_JOBS = 64,
    MAX_FAILURES = 64,
    SEED_SECONDS = 120,
    PROGRESS_SECONDS = 30,
    SKIPPED = 77,
    AGAIN = 9
};

typedef struct options {
    uint64_t first, count;
    const char *device;
    int jobs;
    double seconds;        ///< 0: no limit
    double reduce_seconds; ///< per failure; 0: failures are not reduced
    int reduce_most;       ///< failures to reduce
    bool full, coverage, print, reduce, self_test;
    sabotage broken;
} options;

/// What the processes share.
typedef struct shared {
    uint64_t next, programs, runs, failed;
    uint64_t too_large; ///< programs refused for their size: no failure, but they should be few
    struct worker {
        uint64_t seed;
        double since; ///< 0: not in a seed
        variant variant;
    } workers[MAX_JOBS];
    failure failures[MAX_FAILURES];
    coverage coverage;
} shared;

static uint64_t add(uint64_t *counter) { return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static void record(shared *sh, uint64_t seed, const variant *v, outcome kind, const char *message) {
    printf("seed %" PRIu64 ": %s: %s\n", seed, outcome_texts[kind], message);
    fflush(stdout);
    uint64_t at = add(&sh->failed);
    if (at >= MAX_FAILURES)
        return;
    failure *f = &sh->failures[at];
    *f = (failure){.seed = seed, .variant = *v, .kind = kind};
    snprintf(f->message, sizeof f->message, "%s", message);
}

// --- workers

static void evaluate_expected(const program *p, sabotage broken, memory *want) {
    memory_fill(p, want);
    evaluate(p, want, broken);
}

/// False if the device may be unusable now.
static bool run_seed(shared *sh, struct worker *w, runner *r, const options *o, uint64_t seed) {
    bool usable = true, too_large = false;
    program *p = generate(seed);
    memory want;
    evaluate_expected(p, o->broken, &want);
    variant variants[MAX_VARIANTS];
    int n = choose_variants(p, r->is_cuda, o->full, variants);
    for (int i = 0; i < n; i++) {
        char why[400];
        w->variant = variants[i];
        w->since = now(); // the limit is for each run
        outcome out = run_program(r, p, &want, &variants[i], why, sizeof why);
        add(&sh->runs);
        if (out == RUN_TOO_LARGE) {
            too_large = true;
        } else if (out != RUN_OK) {
            record(sh, seed, &variants[i], out, why);
            usable = out != RUN_LAUNCH;
            break;
        }
    }
    add(&sh->programs);
    if (too_large)
        add(&sh->too_large);
    if (o->coverage)
        coverage_add(&sh->coverage, p);
    memory_free(&want);
    program_destroy(p);
    return usable;
}

static void work(shared *sh, int index, const options *o, double end) {
    struct worker *w = &sh->workers[index];
    runner r;
    char message[400];
    if (runner_open(&r, o->device, message, sizeof message)) {
        printf("FAILED %s\n", message);
        _exit(1);
    }
    while ((!o->seconds || now() < end) && sh->failed < (o->self_test ? 1 : MAX_FAILURES)) {
        uint64_t i = add(&sh->next);
        if (i >= o->count)
            break;
        w->seed = o->first + i;
        w->since = now();
        bool usable = run_seed(sh, w, &r, o, w->seed);
        w->since = 0;
        if (!usable) // a new process gets a new context
            _exit(AGAIN);
    }
    runner_close(&r);
    _exit(0);
}

static pid_t start_worker(shared *sh, int index, const options *o, double end) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        work(sh, index, o, end);
    return pid;
}

/// A worker that died took its seed with it.
static bool bury(shared *sh, int index, int status) {
    struct worker *w = &sh->workers[index];
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == AGAIN))
        return true;
    if (!w->since) // not by a seed: it could not begin
        return false;
    char why[64];
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    snprintf(why, sizeof why, killed ? "more than %d s" : "signal %d",
             killed                ? SEED_SECONDS
             : WIFSIGNALED(status) ? WTERMSIG(status)
                                   : 0);
    record(sh, w->seed, &w->variant, killed ? RUN_TIMEOUT : RUN_CRASH, why);
    add(&sh->programs);
    w->since = 0;
    return true;
}

/// A line on stderr now and then.
static void show_progress(const shared *sh, const options *o, double *next) {
    if (now() < *next)
        return;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " programs, %" PRIu64 " failed\n", sh->programs,
            o->count, sh->failed);
    *next = now() + PROGRESS_SECONDS;
}

/// Runs all seeds. False if the workers cannot work at all.
static bool run_all(shared *sh, const options *o) {
    pid_t pids[MAX_JOBS];
    double end = now() + o->seconds, progress = now() + PROGRESS_SECONDS;
    int alive = o->jobs;
    bool ok = true;
    for (int i = 0; i < o->jobs; i++)
        pids[i] = start_worker(sh, i, o, end);
    while (alive > 0) {
        usleep(20000);
        show_progress(sh, o, &progress);
        for (int i = 0; i < o->jobs; i++) {
            int status;
            if (pids[i] <= 0)
                continue;
            if (sh->workers[i].since && now() - sh->workers[i].since > SEED_SECONDS)
                kill(pids[i], SIGKILL);
            if (waitpid(pids[i], &status, WNOHANG) != pids[i])
                continue;
            bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
            ok = bury(sh, i, status) && ok;
            if (died && ok) {
                pids[i] = start_worker(sh, i, o, end);
            } else {
                pids[i] = 0;
                alive--;
            }
        }
    }
    return ok;
}

// --- reports

static int count_lines(const char *s) {
    int n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void print_text(const program *p) {
    text t = {0};
    print_launch(p, &t);
    text_put(&t, "\n");
    print_program(p, &t);
    printf("%s", t.data);
    free(t.data);
}

/// Under what it runs, then its text.
static void print_with_variants(const program *p, const options *o) {
    variant variants[MAX_VARIANTS];
    int n = choose_variants(p, strncmp(o->device, "cuda", 4) == 0, o->full, variants);
    for (int i = 0; i < n; i++) {
        text t = {0};
        describe_variant(&variants[i], &t);
        printf("%s\n", t.data);
        free(t.data);
    }
    print_text(p);
}

static void print_failure(const char *device, const failure *f, const program *p) {
    text t = {0};
    describe_variant(&f->variant, &t);
    printf("FAILED seed %" PRIu64 " on %s: %s (%s)\n%s\n", f->seed, device, outcome_texts[f->kind],
           t.data, f->message);
    free(t.data);
    if (p)
        print_text(p);
    printf("\n");
    fflush(stdout);
}

/// Reduces and prints a failure. Returns the lines of its text.
static int report(failure *f, const options *o) {
    program *p = generate(f->seed), *small = NULL;
    int lines = 0;
    if (o->reduce_seconds > 0) {
        small = reduce_failure(p, f, o->device, o->broken, o->reduce_seconds);
        text t = {0};
        print_program(small, &t);
        lines = count_lines(t.data);
        free(t.data);
    }
    print_failure(o->device, f, small);
    program_destroy(small);
    program_destroy(p);
    return lines;
}

/// 0, SKIPPED if the machine has no such device, or 2 if nothing is called that.
static int find_device(const char *device) {
    fflush(stdout);
    pid_t pid = fork(); // a driver does not survive a fork, so this process never opens one
    if (pid == 0) {
        runner r;
        char message[400];
        tile_status status = runner_open(&r, device, message, sizeof message);
        if (status)
            printf("%s: %s\n", status == TILE_ERROR_NOT_FOUND ? "skipped" : "FAILED", message);
        else
            runner_close(&r);
        fflush(stdout);
        _exit(status == TILE_ERROR_NOT_FOUND ? SKIPPED : status ? 2 : 0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static shared *new_shared(void) {
    shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return sh;
}

static int run_seeds(const options *o) {
    shared *sh = new_shared();
    double begin = now();
    printf("seeds %" PRIu64 "..%" PRIu64 " on %s, %d processes\n", o->first,
           o->first + o->count - 1, o->device, o->jobs);
    bool ok = run_all(sh, o);
    for (uint64_t i = 0; i < sh->failed && i < MAX_FAILURES; i++) {
        options once = *o;
        if ((int)i >= o->reduce_most)
            once.reduce_seconds = 0;
        report(&sh->failures[i], &once);
    }
    if (o->coverage)
        coverage_print(&sh->coverage);
    printf("%" PRIu64 " programs, %" PRIu64 " runs, %" PRIu64 " failed, %" PRIu64
           " too large, %.0f s\n",
           sh->programs, sh->runs, sh->failed, sh->too_large, now() - begin);
    return !ok || sh->failed || !sh->programs;
}

/// With one rule of the evaluator broken, a difference must be found soon and be reduced to little.
static int self_test(options o) {
    static const char *const rules[] = {"",
                                        "long sums lose an element",
                                        "signed shifts bring in zeros",
                                        "square transposes do nothing",
                                        "masked loads ignore `other`",
                                        "reversed scans run forward"};
    int missed = 0;
    for (o.broken = SABOTAGE_SUM; o.broken <= SABOTAGE_SCAN; o.broken++) {
        shared *sh = new_shared();
        run_all(sh, &o);
        int lines = 0;
        if (sh->failed)
            lines = report(&sh->failures[0], &o);
        bool good = sh->failed && lines <= 24;
        missed += !good;
        printf("%s: %s: noticed after %" PRIu64 " programs and reduced to %d lines\n\n",
               good ? "ok" : "FAILED", rules[o.broken], sh->programs, lines);
        munmap(sh, sizeof *sh);
    }
    return missed != 0;
}

/// One seed in all its variants, reduced if it fails.
static int reduce_one(const options *o) {
    program *p = generate(o->first);
    variant variants[MAX_VARIANTS];
    int n = choose_variants(p, strncmp(o->device, "cuda", 4) == 0, o->full, variants);
    int failed = 0;
    for (int i = 0; i < n && !failed; i++) {
        failure f = {.seed = o->first, .variant = variants[i]};
        f.kind =
            run_guarded(NULL, o->device, p, &variants[i], o->broken, f.message, sizeof f.message);
        if (f.kind != RUN_OK && f.kind != RUN_TOO_LARGE) {
            failed = 1;
            report(&f, o);
        }
    }
    if (!failed)
        printf("seed %" PRIu64 " does not fail\n", o->first);
    program_destroy(p);
    return failed;
}

// --- options

static const char usage[] =
    "random-programs [options]\n"
    "  --seeds A..B | --count N --seed S    which programs (default 1..500)\n"
    "  --device NAME     cpu (default) or cuda:N\n"
    "  --jobs N          worker processes (2)\n"
    "  --time SECONDS    stop taking seeds after that long\n"
    "  --full            all variants of each program instead of a few\n"
    "  --print SEED      the program's text\n"
    "  --reduce SEED     shrink that program if it fails\n"
    "  --reduce-time SECONDS, --reduce-most N    per failure (60), and how many (5)\n"
    "  --coverage        how often each feature occurred\n"
    "  --self-test       with the evaluator broken on purpose, differences must be found\n";

static bool read_flag(options *o, const char *arg) {
    if (!strcmp(arg, "--full"))
        o->full = true;
    else if (!strcmp(arg, "--coverage"))
        o->coverage = true;
    else if (!strcmp(arg, "--self-test"))
        o->self_test = true;
    else
        return false;
    return true;
}

/// A whole number within bounds, and nothing after it.
static bool read_number(const char *v, uint64_t least, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(v, &end, 10);
    return *v >= '0' && *v <= '9' && !*end && !errno && *out >= least && *out <= most;
}

static bool read_int(const char *v, int least, int most, int *out) {
    uint64_t n;
    return read_number(v, (uint64_t)least, (uint64_t)most, &n) && (*out = (int)n, true);
}

static bool read_seconds(const char *v, double *out) {
    char *end;
    *out = strtod(v, &end);
    return *v >= '0' && *v <= '9' && !*end;
}

/// A..B
static bool read_range(options *o, const char *v) {
    const char *dots = strstr(v, "..");
    char first[32];
    uint64_t last;
    if (!dots || (size_t)(dots - v) >= sizeof first)
        return false;
    memcpy(first, v, (size_t)(dots - v));
    first[dots - v] = '\0';
    if (!read_number(first, 0, UINT64_MAX, &o->first) ||
        !read_number(dots + 2, o->first, UINT64_MAX - 1, &last))
        return false;
    o->count = last - o->first + 1;
    return true;
}

/// False if the option is unknown or its value makes no sense.
static bool read_option(options *o, const char *arg, const char *v) {
    if (!strcmp(arg, "--seeds"))
        return read_range(o, v);
    if (!strcmp(arg, "--count"))
        return read_number(v, 1, UINT32_MAX, &o->count);
    if (!strcmp(arg, "--seed") || !strcmp(arg, "--print") || !strcmp(arg, "--reduce")) {
        o->print = !strcmp(arg, "--print");
        o->reduce = !strcmp(arg, "--reduce");
        return read_number(v, 0, UINT64_MAX, &o->first);
    }
    if (!strcmp(arg, "--device"))
        o->device = v;
    else if (!strcmp(arg, "--jobs"))
        return read_int(v, 1, MAX_JOBS, &o->jobs);
    else if (!strcmp(arg, "--time"))
        return read_seconds(v, &o->seconds);
    else if (!strcmp(arg, "--reduce-time"))
        return read_seconds(v, &o->reduce_seconds);
    else if (!strcmp(arg, "--reduce-most"))
        return read_int(v, 0, MAX_FAILURES, &o->reduce_most);
    else
        return false;
    return true;
}

int main(int argc, char **argv) {
    options o = {.first = 1,
                 .count = 500,
                 .device = "cpu",
                 .jobs = 2,
                 .reduce_seconds = 60,
                 .reduce_most = 5};
    for (int i = 1; i < argc; i++) {
        if (read_flag(&o, argv[i]))
            continue;
        if (i + 1 >= argc || !read_option(&o, argv[i], argv[i + 1])) {
            fprintf(stderr, "random-programs: what is meant by '%s%s%s'?\n%s", argv[i],
                    i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", usage);
            return 2;
        }
        i++;
    }
    if (o.print) {
        program *p = generate(o.first);
        print_with_variants(p, &o);
        program_destroy(p);
        return 0;
    }
    int found = find_device(o.device);
    if (found)
        return found;
    if (o.reduce)
        return reduce_one(&o);
    return o.self_test ? self_test(o) : run_seeds(&o);
}
