// A program as the text of a .tile file, and its launch in words.
#ifndef TILE_RANDOM_PRINT_H
#define TILE_RANDOM_PRINT_H

#include "tree.h"

typedef struct text {
    char *data;
    size_t len, capacity;
} text;

void text_put(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/// The file: helpers, then the kernel `k`. Parameters: buffers, run-time scalars, constexprs.
void print_program(const program *p, text *out);
/// "grid (2, 1, 1); b0: 64 x fp32; n0 = 5", one line each.
void print_launch(const program *p, text *out);

#endif
