// What the tests on the fake driver share: checks that are counted and printed but do not stop a
// test, from any thread, and the driver's state.
#ifndef TILE_TESTS_FAKE_TEST_H
#define TILE_TESTS_FAKE_TEST_H

#include "tests/fake/fake_cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_long checks, failures;
#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(cond)) {                                                                             \
            failures++;                                                                            \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
        }                                                                                          \
    } while (0)

/// The state of the fake driver in that library; NULL if the path is NULL or it is none.
static inline fake_state *open_fake(const char *path) {
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "fake_get_state") : NULL;
    fake_state *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    return get ? get() : NULL;
}

/// The exit status.
static inline int finish(void) {
    printf("%ld checks, %ld failed\n", atomic_load(&checks), atomic_load(&failures));
    return failures != 0;
}

#endif
