// String views and growing text: see text.h.
#include "support/text.h"

#include <stdio.h>

sv sv_from(const char *s) { return (sv){s, s ? strlen(s) : 0}; }

bool sv_equal(sv a, sv b) {
    return a.len == b.len && (a.len == 0 || !memcmp(a.data, b.data, a.len));
}

bool sv_is(sv a, const char *s) { return sv_equal(a, sv_from(s)); }

bool sv_starts_with(sv a, const char *prefix) {
    size_t n = strlen(prefix);
    return a.len >= n && !memcmp(a.data, prefix, n);
}

sv sv_copy(arena *a, sv s) { return (sv){arena_copy_string(a, s.data, s.len), s.len}; }

sv sv_format(arena *a, const char *fmt, ...) {
    strbuf s;
    strbuf_init(&s, a);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&s, fmt, args);
    va_end(args);
    return strbuf_view(&s);
}

void strbuf_init(strbuf *s, arena *a) { *s = (strbuf){.arena = a}; }

static void reserve(strbuf *s, size_t more) {
    if (s->cap - s->len > more)
        return;
    size_t cap = s->cap ? s->cap : 64;
    while (cap - s->len <= more)
        cap *= 2;
    s->data = arena_grow(s->arena, s->data, s->len, cap);
    s->cap = cap;
}

void strbuf_put(strbuf *s, sv text) {
    reserve(s, text.len);
    if (text.len)
        memcpy(s->data + s->len, text.data, text.len);
    s->len += text.len;
    s->data[s->len] = 0;
}

void strbuf_puts(strbuf *s, const char *text) { strbuf_put(s, sv_from(text)); }

void strbuf_putc(strbuf *s, char c) { strbuf_put(s, (sv){&c, 1}); }

void strbuf_printf(strbuf *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(s, fmt, args);
    va_end(args);
}

void strbuf_vprintf(strbuf *s, const char *fmt, va_list args) {
    va_list measure;
    va_copy(measure, args);
    int n = vsnprintf(NULL, 0, fmt, measure);
    va_end(measure);
    if (n < 0)
        return;
    reserve(s, (size_t)n);
    vsnprintf(s->data + s->len, (size_t)n + 1, fmt, args);
    s->len += (size_t)n;
}

sv strbuf_view(const strbuf *s) { return (sv){s->data ? s->data : "", s->len}; }
