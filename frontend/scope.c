// Names and their bindings; see scope.h.
#include "frontend/scope.h"

void scope_init(scope *s, arena *a, const fe_module *m) {
    *s = (scope){.arena = a, .module = m, .slot_of = {.arena = a}};
}

uint32_t scope_slot(scope *s, sv name) {
    uint32_t slot;
    if (name_map_get(&s->slot_of, name, &slot))
        return slot;
    if (s->len == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 16;
        s->names =
            arena_grow(s->arena, s->names, s->cap * sizeof *s->names, cap * sizeof *s->names);
        s->slots =
            arena_grow(s->arena, s->slots, s->cap * sizeof *s->slots, cap * sizeof *s->slots);
        s->keeps_constexpr =
            arena_grow(s->arena, s->keeps_constexpr, s->cap * sizeof(bool), cap * sizeof(bool));
        s->cap = cap;
    }
    name_map_set(&s->slot_of, name, s->len);
    s->names[s->len] = name;
    s->slots[s->len] = NULL;
    s->keeps_constexpr[s->len] = false;
    return s->len++;
}

const binding *scope_find(const scope *s, sv name) {
    uint32_t slot;
    return name_map_get(&s->slot_of, name, &slot) ? s->slots[slot] : NULL;
}

void scope_bind(scope *s, uint32_t slot, binding_state state, value v, src_range where) {
    binding *b = ARENA_NEW(s->arena, binding);
    *b = (binding){.state = state, .value = v, .where = where};
    s->slots[slot] = b;
}

void scope_set(scope *s, sv name, value v, src_range where) {
    scope_bind(s, scope_slot(s, name), BINDING_VALUE, v, where);
}

void scope_remove(scope *s, sv name) {
    uint32_t slot;
    if (name_map_get(&s->slot_of, name, &slot))
        s->slots[slot] = NULL;
}

scope_state scope_save(const scope *s) {
    scope_state state = {.len = s->len};
    state.slots = ARENA_ARRAY(s->arena, const binding *, s->len + 1);
    if (s->len)
        memcpy(state.slots, s->slots, s->len * sizeof *s->slots);
    return state;
}

void scope_restore(scope *s, scope_state state) {
    for (uint32_t i = 0; i < s->len; i++)
        s->slots[i] = scope_state_get(&state, i);
}
