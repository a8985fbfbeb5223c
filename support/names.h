// A map from names to numbers, for symbol tables: no search may take time in proportion to the
// number of names, or a long program takes its square.
#ifndef TILE_SUPPORT_NAMES_H
#define TILE_SUPPORT_NAMES_H

#include "support/text.h"

typedef struct name_entry {
    sv name; ///< data is NULL in an empty place
    uint32_t value;
} name_entry;

/// Zero except for the arena is an empty map. The text of the names must outlive it.
typedef struct name_map {
    arena *arena;
    name_entry *entries;
    uint32_t cap, len;
} name_map;

/// Gives a name a value, or another one than before.
void name_map_set(name_map *m, sv name, uint32_t value);
/// False if the name is not in the map; *value is left alone then.
bool name_map_get(const name_map *m, sv name, uint32_t *value);

#endif
