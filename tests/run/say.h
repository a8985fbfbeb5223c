// The text of a kernel, made piece by piece.
#ifndef TILE_TESTS_SAY_H
#define TILE_TESTS_SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char text[1 << 18];
static size_t text_size;

static inline void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/// Appends to `text`. A text that is too long ends the test.
static inline void say(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    text_size += (size_t)vsnprintf(text + text_size, sizeof text - text_size, fmt, args);
    va_end(args);
    if (text_size >= sizeof text) {
        printf("FAILED a kernel's text is too long\n");
        exit(1);
    }
}

#endif
