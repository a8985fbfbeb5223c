// Strings and growing arrays on an arena. A string view (sv) is passed by value and is never
// assumed to end in NUL; a strbuf is text under construction; VEC(T) is a typed growing array.
#ifndef TILE_SUPPORT_TEXT_H
#define TILE_SUPPORT_TEXT_H

#include "support/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// A borrowed piece of text; `data` outlives the view and need not end in NUL.
typedef struct sv {
    const char *data;
    size_t len;
} sv;

#define SV(literal) ((sv){(literal), sizeof(literal) - 1})
/// printf("%" SV_FMT, SV_ARG(s))
#define SV_FMT ".*s"
#define SV_ARG(s) (int)(s).len, (s).data

sv sv_from(const char *nul_terminated);
bool sv_equal(sv a, sv b);
bool sv_is(sv a, const char *nul_terminated);
bool sv_starts_with(sv a, const char *prefix);
/// Copies `s` into the arena with a NUL after it; the result's data is a C string.
sv sv_copy(arena *a, sv s);
/// Formats into the arena; the result's data is a C string.
sv sv_format(arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/// Text that grows on an arena. data is always NUL-terminated once anything was put.
typedef struct strbuf {
    arena *arena;
    char *data;
    size_t len, cap;
} strbuf;

void strbuf_init(strbuf *s, arena *a);
void strbuf_put(strbuf *s, sv text);
void strbuf_puts(strbuf *s, const char *nul_terminated);
void strbuf_putc(strbuf *s, char c);
void strbuf_printf(strbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(strbuf *s, const char *fmt, va_list args);
sv strbuf_view(const strbuf *s);

/// A growing array: `VEC(int) v = {0}; VEC_PUSH(a, v, 3); v.data[0]; v.len`.
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        uint32_t len, cap;                                                                         \
    }
#define VEC_PUSH(a, v, ...)                                                                        \
    do {                                                                                           \
        if ((v).len == (v).cap) {                                                                  \
            uint32_t vec_new_cap = (v).cap ? (v).cap * 2 : 8;                                      \
            (v).data = arena_grow((a), (v).data, (v).cap * sizeof(*(v).data),                      \
                                  vec_new_cap * sizeof(*(v).data));                                \
            (v).cap = vec_new_cap;                                                                 \
        }                                                                                          \
        (v).data[(v).len++] = (__VA_ARGS__);                                                       \
    } while (0)

#endif
