// Source to PTX in a warm process: compiles one kernel many times and prints the median wall and
// processor time.
//   compile_time FILE.tile [tilec options...]
#include "tilec/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 51, MAX_ARGS = 64 };

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > MAX_ARGS - 3) {
        fprintf(stderr, "usage: compile_time FILE.tile [tilec options...]\n");
        return 2;
    }
    char *args[MAX_ARGS] = {"tilec", "-o", "/dev/null"};
    for (int i = 1; i < argc; i++)
        args[2 + i] = argv[i];
    double wall[RUNS], cpu[RUNS], first = 0;
    for (int i = -1; i < RUNS; i++) {
        double w = now_ms(CLOCK_MONOTONIC), c = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        if (tile_compiler_main(argc + 2, args))
            return 1;
        w = now_ms(CLOCK_MONOTONIC) - w;
        if (i < 0) {
            first = w;
            continue;
        }
        wall[i] = w;
        cpu[i] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - c;
    }
    qsort(wall, RUNS, sizeof *wall, by_value);
    qsort(cpu, RUNS, sizeof *cpu, by_value);
    printf("source to PTX: median %.2f ms wall, %.2f ms processor (of %d; p20 %.2f, p80 %.2f; the "
           "first took %.2f)\n",
           wall[RUNS / 2], cpu[RUNS / 2], RUNS, wall[RUNS / 5], wall[RUNS * 4 / 5], first);
    return 0;
}
