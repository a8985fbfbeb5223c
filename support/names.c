// Open addressing with linear probing, at most half full; see names.h.
#include "support/names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/// The entry of a name, or the empty one where it belongs.
static name_entry *find(const name_map *m, sv name) {
    uint32_t i = (uint32_t)XXH3_64bits(name.data, name.len);
    for (;; i++) {
        name_entry *e = &m->entries[i & (m->cap - 1)];
        if (!e->name.data || sv_equal(e->name, name))
            return e;
    }
}

static void grow(name_map *m) {
    name_map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->entries = ARENA_ARRAY(m->arena, name_entry, m->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.entries[i].name.data)
            *find(m, old.entries[i].name) = old.entries[i];
}

void name_map_set(name_map *m, sv name, uint32_t value) {
    if (2 * m->len >= m->cap)
        grow(m);
    name_entry *e = find(m, name);
    m->len += !e->name.data;
    *e = (name_entry){name.data ? name : SV(""), value};
}

bool name_map_get(const name_map *m, sv name, uint32_t *value) {
    if (!m->len)
        return false;
    const name_entry *e = find(m, name);
    if (!e->name.data)
        return false;
    *value = e->value;
    return true;
}
