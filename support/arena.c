// The bump allocator behind arena.h: a list of chunks, each twice the last up to 1 MiB. Memory is
// zeroed when handed out, and poisoned for AddressSanitizer while it is not.
#include "support/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 16, FIRST_CHUNK = 64 << 10, LAST_CHUNK = 1 << 20 };

typedef struct chunk {
    struct chunk *prev;
    size_t size, used; // bytes after the header; used is a multiple of ALIGN
} chunk;

struct arena {
    chunk *top;
    jmp_buf *recovery;
    size_t total; // bytes used in all chunks below the top one
};

static size_t round_up(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static char *chunk_data(chunk *c) { return (char *)c + round_up(sizeof(chunk)); }

void arena_out_of_memory(arena *a) {
    if (a->recovery)
        longjmp(*a->recovery, 1);
    abort();
}

arena *arena_create(void) { return calloc(1, sizeof(arena)); }

void arena_destroy(arena *a) {
    if (!a)
        return;
    for (chunk *c = a->top; c;) {
        chunk *prev = c->prev;
        ASAN_UNPOISON_MEMORY_REGION(chunk_data(c), c->size);
        free(c);
        c = prev;
    }
    free(a);
}

jmp_buf *arena_on_out_of_memory(arena *a, jmp_buf *recovery) {
    jmp_buf *before = a->recovery;
    a->recovery = recovery;
    return before;
}

static void add_chunk(arena *a, size_t least) {
    size_t size = a->top ? a->top->size * 2 : FIRST_CHUNK;
    if (size > LAST_CHUNK)
        size = LAST_CHUNK;
    if (size < least)
        size = least;
    chunk *c = size > SIZE_MAX / 2 ? NULL : malloc(round_up(sizeof(chunk)) + size);
    if (!c)
        arena_out_of_memory(a);
    if (a->top)
        a->total += a->top->used;
    *c = (chunk){.prev = a->top, .size = size, .used = 0};
    ASAN_POISON_MEMORY_REGION(chunk_data(c), size);
    a->top = c;
}

void *arena_alloc(arena *a, size_t size) {
    if (size > SIZE_MAX / 4)
        arena_out_of_memory(a);
    size_t n = round_up(size ? size : 1);
    if (!a->top || a->top->size - a->top->used < n)
        add_chunk(a, n);
    char *p = chunk_data(a->top) + a->top->used;
    a->top->used += n;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    memset(p, 0, size);
    return p;
}

void *arena_alloc_array(arena *a, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        arena_out_of_memory(a);
    return arena_alloc(a, count * size);
}

char *arena_copy_string(arena *a, const char *data, size_t len) {
    char *s = arena_alloc(a, len + 1);
    if (len)
        memcpy(s, data, len);
    return s;
}

void *arena_grow(arena *a, void *old, size_t old_size, size_t new_size) {
    void *p = arena_alloc(a, new_size);
    if (old_size)
        memcpy(p, old, old_size);
    return p;
}

arena_mark arena_save(const arena *a) {
    return (arena_mark){.chunk = a->top, .used = a->top ? a->top->used : 0};
}

void arena_restore(arena *a, arena_mark mark) {
    while (a->top && a->top != mark.chunk) {
        chunk *c = a->top;
        a->top = c->prev;
        if (a->top)
            a->total -= a->top->used;
        ASAN_UNPOISON_MEMORY_REGION(chunk_data(c), c->size);
        free(c);
    }
    if (a->top) {
        ASAN_POISON_MEMORY_REGION(chunk_data(a->top) + mark.used, a->top->used - mark.used);
        a->top->used = mark.used;
    }
}

size_t arena_used(const arena *a) { return a->total + (a->top ? a->top->used : 0); }
