// A bump allocator: the compiler's only allocator. One arena lives as long as one compilation and
// is freed whole; nothing in frontend/ or ir/ frees anything by hand. When memory runs out the
// arena jumps to the one recovery point its owner has set (runtime/compile.c, tilec/main.c), so
// that no caller has to test for NULL.
#ifndef TILE_SUPPORT_ARENA_H
#define TILE_SUPPORT_ARENA_H

#include <setjmp.h>
#include <stddef.h>

typedef struct arena arena;

/// Position in an arena, to give back everything allocated after it.
typedef struct arena_mark {
    void *chunk;
    size_t used;
} arena_mark;

/// Creates an empty arena. Returns NULL when memory runs out.
arena *arena_create(void);
/// Frees the arena and all that was allocated in it. NULL is ignored.
void arena_destroy(arena *a);
/// Sets where to jump (with value 1) when an allocation fails, and returns what was set before.
/// Without it (NULL), failure aborts. The frame must be one of the thread that uses the arena.
jmp_buf *arena_on_out_of_memory(arena *a, jmp_buf *recovery);
/// Does what a failed allocation does.
_Noreturn void arena_out_of_memory(arena *a);
/// Returns `size` zeroed bytes, 16-byte aligned. Never returns NULL.
void *arena_alloc(arena *a, size_t size);
/// Like arena_alloc(a, count * size), with the product checked for overflow.
void *arena_alloc_array(arena *a, size_t count, size_t size);
/// Copies `len` bytes and adds a NUL.
char *arena_copy_string(arena *a, const char *data, size_t len);
/// Moves an array of old_size bytes into a new one of new_size bytes; the old one stays valid.
void *arena_grow(arena *a, void *old, size_t old_size, size_t new_size);
arena_mark arena_save(const arena *a);
/// Gives back everything allocated since `mark` was taken.
void arena_restore(arena *a, arena_mark mark);
/// Bytes in use, for limits and statistics.
size_t arena_used(const arena *a);

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc_array((a), (n), sizeof(T)))

#endif
