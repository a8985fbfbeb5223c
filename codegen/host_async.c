// Asynchronous copies as a program may at worst see them: nothing lands before the wait that asks for
// it, and what is read too early is poison. Each warp keeps its copies in the order in which they
// were started, with the number of their group; a wait carries out the oldest ones.
#include "codegen/host_rt.h"

#include <stdlib.h>

/// One element for each of 32 lanes.
typedef struct host_copy {
    uint32_t group, bytes;
    uint32_t offsets[HOST_LANES];
    uint64_t values[HOST_LANES]; ///< of `bytes` bytes each, side by side
} host_copy;

struct host_copies {
    host_copy *all; ///< those that have not landed, oldest first
    uint32_t count, capacity;
    uint32_t groups; ///< closed so far
};

static host_copies *room_for_one(host_warp *w) {
    host_copies *c = w->copies;
    if (!c)
        c = w->copies = calloc(1, sizeof(*c));
    if (c && c->count == c->capacity) {
        uint32_t more = c->capacity ? 2 * c->capacity : 32;
        host_copy *all = realloc(c->all, more * sizeof(*all));
        if (!all)
            c = NULL;
        else
            *c = (host_copies){all, c->count, more, c->groups};
    }
    if (!c)
        host_fail(w, HOST_OUT_OF_MEMORY, HOST_NO_SITE, -1, "no memory for asynchronous copies");
    return c;
}

void host_async_store(host_warp *w, uint32_t bytes, const uint32_t *offsets, const void *values) {
    host_copies *c = room_for_one(w);
    host_copy *copy = &c->all[c->count++];
    copy->group = c->groups;
    copy->bytes = bytes;
    memcpy(copy->offsets, offsets, sizeof(copy->offsets));
    memcpy(copy->values, values, HOST_LANES * bytes);
    uint64_t poison[HOST_LANES];
    memset(poison, HOST_SHARED_POISON, sizeof(poison));
    host_shared_store(w, bytes, 1, NULL, offsets, poison, UINT32_MAX);
}

void host_async_commit(host_warp *w) {
    if (w->copies)
        w->copies->groups++;
}

void host_async_wait(host_warp *w, uint32_t pending) {
    host_copies *c = w->copies;
    uint32_t n = 0;
    for (; c && n < c->count && c->all[n].group + pending < c->groups; n++)
        host_shared_store(w, c->all[n].bytes, 1, NULL, c->all[n].offsets, c->all[n].values,
                          UINT32_MAX);
    if (n == 0)
        return;
    c->count -= n;
    memmove(c->all, c->all + n, c->count * sizeof(*c->all));
}

void host_async_begin(host_warp *w) {
    if (w->copies)
        w->copies->count = w->copies->groups = 0;
}

void host_async_end(host_warp *w) {
    if (w->copies)
        free(w->copies->all);
    free(w->copies);
    w->copies = NULL;
}
