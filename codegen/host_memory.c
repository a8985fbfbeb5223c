// Memory as generated host code sees it: every lane's access is checked against the allocation it
// must stay in before anything is touched. Global accesses go by address; shared memory by offset.
// Lanes are served in order, so a warp's conflicting stores have the effect of the highest lane.
#include "codegen/host_rt.h"

#include <math.h>

// ---------------------------------------------------------------------------- checks

const host_allocation *host_find_allocation(host_warp *w, const host_site *site, uint64_t address) {
    const host_run *run = w->run;
    if (site->root >= 0)
        return w->roots[site->root];
    for (uint32_t i = 0; i < run->num_allocations; i++)
        if (address - (uintptr_t)run->allocations[i].base < run->allocations[i].size_bytes)
            return &run->allocations[i];
    return NULL;
}

static bool is_inside(const host_allocation *a, uint64_t address, uint64_t bytes) {
    uint64_t offset = address - (uintptr_t)a->base;
    return offset <= a->size_bytes && a->size_bytes - offset >= bytes;
}

static const char *access_name(host_site_kind kind) {
    return kind == HOST_SITE_LOAD ? "load" : kind == HOST_SITE_STORE ? "store" : "atomic";
}

// The element is counted from the parameter's own address, as the kernel's author does.
static _Noreturn void report_outside(host_warp *w, uint32_t site_index, const host_allocation *a,
                                     uint64_t address, int lane) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem);
    const char *kind = access_name(site->kind);
    if (a) // the first element of the group that is not inside
        for (unsigned k = 0; k + 1 < site->vec && is_inside(a, address, bytes); k++)
            address += bytes;
    if (site->root < 0)
        host_fail(w, HOST_OUT_OF_BOUNDS, site_index, lane,
                  "%s of %u bytes at address 0x%llx, outside every allocation", kind, bytes,
                  (unsigned long long)address);
    uint64_t base = w->args[site->root].bits;
    long long index = (long long)(int64_t)(address - base) / (int)bytes;
    if (!a)
        host_fail(w, HOST_OUT_OF_BOUNDS, site_index, lane,
                  "%s of %u bytes through '%s', which points to no allocation (0x%llx): element "
                  "index %lld",
                  kind, bytes, site->name, (unsigned long long)base, index);
    const char *name = a->name ? a->name : site->name;
    host_fail(w, HOST_OUT_OF_BOUNDS, site_index, lane,
              "%s of %u bytes outside the allocation '%s' (%zu bytes): element index %lld", kind,
              bytes, name, a->size_bytes, index);
}

static void check_access(host_warp *w, uint32_t site_index, uint64_t address, int lane) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = site->vec * dtype_bytes(site->elem);
    const host_allocation *a = host_find_allocation(w, site, address);
    if (!a || !is_inside(a, address, bytes))
        report_outside(w, site_index, a, address, lane);
    if (address & (bytes - 1))
        host_fail(w, HOST_ASSERTION, site_index, lane,
                  "%s of %u bytes at address 0x%llx, which is not a multiple of %u",
                  access_name(site->kind), bytes, (unsigned long long)address, bytes);
}

/// True if the lanes' groups follow each other in memory, all of them are active, and the whole
/// span is allowed: the common case, done as one block.
static bool is_one_block(host_warp *w, const host_site *site, const uint64_t *pointers,
                         uint32_t mask) {
    uint64_t group = site->vec * dtype_bytes(site->elem), strays = pointers[0] & (group - 1);
    if (mask != UINT32_MAX)
        return false;
    for (unsigned lane = 1; lane < HOST_LANES; lane++)
        strays |= pointers[lane] ^ (pointers[0] + lane * group);
    if (strays)
        return false;
    const host_allocation *a = host_find_allocation(w, site, pointers[0]);
    return a && is_inside(a, pointers[0], HOST_LANES * group);
}

static void check_lanes(host_warp *w, uint32_t site, const uint64_t *pointers, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        check_access(w, site, pointers[lane], lane);
    }
}

// ---------------------------------------------------------------------------- loads and stores

/// The lanes' addresses: `places` itself, or computed into `room`.
static const uint64_t *find_addresses(const host_site *site, uint64_t base, const void *places,
                                      uint64_t room[HOST_LANES]) {
    const int32_t *offsets = places;
    int64_t bytes = dtype_bytes(site->elem);
    switch (site->addressing) {
    case HOST_ADDRESSES:
        return places;
    case HOST_SIGNED_OFFSETS:
        for (unsigned i = 0; i < HOST_LANES; i++)
            room[i] = base + (uint64_t)(offsets[i] * bytes);
        break;
    case HOST_UNSIGNED_OFFSETS:
        for (unsigned i = 0; i < HOST_LANES; i++)
            room[i] = base + (uint64_t)((uint32_t)offsets[i] * bytes);
        break;
    }
    return room;
}

// Single elements are read and written whole: another thread may be doing the same.
#define MOVE_LANES(T)                                                                              \
    static void load_##T(const uint64_t *pointers, T *values, uint32_t mask, unsigned vec) {       \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            unsigned lane = (unsigned)__builtin_ctz(left);                                         \
            const T *p = (const T *)(uintptr_t)pointers[lane];                                     \
            for (unsigned k = 0; k < vec; k++)                                                     \
                values[k * HOST_LANES + lane] = __atomic_load_n(p + k, __ATOMIC_RELAXED);          \
        }                                                                                          \
    }                                                                                              \
    static void store_##T(const uint64_t *pointers, const T *values, uint32_t mask,                \
                          unsigned vec) {                                                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            unsigned lane = (unsigned)__builtin_ctz(left);                                         \
            T *p = (T *)(uintptr_t)pointers[lane];                                                 \
            for (unsigned k = 0; k < vec; k++)                                                     \
                __atomic_store_n(p + k, values[k * HOST_LANES + lane], __ATOMIC_RELAXED);          \
        }                                                                                          \
    }
MOVE_LANES(uint8_t)
MOVE_LANES(uint16_t)
MOVE_LANES(uint32_t)
MOVE_LANES(uint64_t)

static void fill_inactive(void *values, const void *other, unsigned bytes, unsigned vec) {
    for (unsigned k = 0; k < vec; k++) {
        char *to = (char *)values + k * HOST_LANES * bytes;
        if (other)
            memcpy(to, other, HOST_LANES * bytes);
        else
            memset(to, 0, HOST_LANES * bytes);
    }
}

void host_load(host_warp *w, uint32_t site_index, uint64_t base, const void *places,
               const void *other, void *values, uint32_t mask) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem), vec = site->vec;
    uint64_t room[HOST_LANES];
    const uint64_t *pointers = find_addresses(site, base, places, room);
    if (mask != UINT32_MAX)
        fill_inactive(values, other, bytes, vec);
    if (is_one_block(w, site, pointers, mask)) {
        if (vec == 1) {
            memcpy(values, (const void *)(uintptr_t)pointers[0], HOST_LANES * bytes);
            return;
        }
    } else {
        check_lanes(w, site_index, pointers, mask);
    }
    switch (bytes) {
    case 1:
        load_uint8_t(pointers, values, mask, vec);
        break;
    case 2:
        load_uint16_t(pointers, values, mask, vec);
        break;
    case 4:
        load_uint32_t(pointers, values, mask, vec);
        break;
    default:
        load_uint64_t(pointers, values, mask, vec);
        break;
    }
}

void host_store(host_warp *w, uint32_t site_index, uint64_t base, const void *places,
                const void *values, uint32_t mask) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem), vec = site->vec;
    uint64_t room[HOST_LANES];
    const uint64_t *pointers = find_addresses(site, base, places, room);
    if (is_one_block(w, site, pointers, mask)) {
        if (vec == 1) {
            memcpy((void *)(uintptr_t)pointers[0], values, HOST_LANES * bytes);
            return;
        }
    } else {
        check_lanes(w, site_index, pointers, mask);
    }
    switch (bytes) {
    case 1:
        store_uint8_t(pointers, values, mask, vec);
        break;
    case 2:
        store_uint16_t(pointers, values, mask, vec);
        break;
    case 4:
        store_uint32_t(pointers, values, mask, vec);
        break;
    default:
        store_uint64_t(pointers, values, mask, vec);
        break;
    }
}

uint64_t host_load_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint32_t active) {
    if (!active)
        return 0;
    check_access(w, site, pointer, -1);
    const void *p = (const void *)(uintptr_t)pointer;
    switch (dtype_bytes(w->sites[site].elem)) {
    case 1:
        return __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
    case 4:
        return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
    default:
        return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
    }
}

void host_store_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint64_t bits,
                       uint32_t active) {
    if (!active)
        return;
    check_access(w, site, pointer, -1);
    void *p = (void *)(uintptr_t)pointer;
    switch (dtype_bytes(w->sites[site].elem)) {
    case 1:
        __atomic_store_n((uint8_t *)p, (uint8_t)bits, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint16_t *)p, (uint16_t)bits, __ATOMIC_RELAXED);
        break;
    case 4:
        __atomic_store_n((uint32_t *)p, (uint32_t)bits, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *)p, bits, __ATOMIC_RELAXED);
        break;
    }
}

// ---------------------------------------------------------------------------- atomics

/// A subnormal fp32 as the GPU's memory units see it: a zero.
static uint64_t flush(uint64_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

/// Adds in double, which is exact enough for one sum of the smaller types to round right; with the
/// GPU's zeros (fp32 alone has no subnormals there) and its NaN.
static uint64_t add_floats(dtype t, uint64_t old, uint64_t value) {
    bool flushes = t == DT_FP32;
    double a = dtype_bits_to_float(t, flushes ? flush(old) : old);
    double sum = a + dtype_bits_to_float(t, flushes ? flush(value) : value);
    if (isnan(sum) && t != DT_FP64)
        return t == DT_FP32 ? 0x7fffffff : 0x7fff;
    uint64_t bits = dtype_float_to_bits(t, sum);
    return flushes ? flush(bits) : bits;
}

/// The larger float as the GPU's integer units see it: without a sign, bits compare as signed
/// numbers, with one the other way round as unsigned ones. So -0 < +0 and a NaN is at an end.
static uint64_t choose_float(bool is_max, dtype t, uint64_t old, uint64_t value) {
    unsigned unused = 64 - dtype_bits(t);
    int64_t a = (int64_t)(old << unused), b = (int64_t)(value << unused);
    bool larger = b >= 0 ? b > a : (uint64_t)b < (uint64_t)a;
    bool smaller = b >= 0 ? b < a : (uint64_t)b > (uint64_t)a;
    return (is_max ? larger : smaller) ? value : old;
}

/// What an atomic writes over `old`.
static uint64_t combine_float(host_atomic_kind kind, dtype t, uint64_t old, uint64_t value) {
    switch (kind) {
    case HOST_ATOMIC_ADD:
        return add_floats(t, old, value);
    case HOST_ATOMIC_MAX:
    case HOST_ATOMIC_MIN:
        return choose_float(kind == HOST_ATOMIC_MAX, t, old, value);
    default:
        return value;
    }
}

static uint64_t combine_int(host_atomic_kind kind, dtype t, uint64_t old, uint64_t value) {
    int64_t a = dtype_wrap_int(t, (int64_t)old), b = dtype_wrap_int(t, (int64_t)value);
    bool less = dtype_is_signed(t) ? a < b : (uint64_t)a < (uint64_t)b;
    switch (kind) {
    case HOST_ATOMIC_ADD:
        return old + value;
    case HOST_ATOMIC_MAX:
        return less ? value : old;
    case HOST_ATOMIC_MIN:
        return less ? old : value;
    default:
        return value;
    }
}

static uint64_t combine(host_atomic_kind kind, dtype t, uint64_t old, uint64_t value) {
    switch (kind) {
    case HOST_ATOMIC_AND:
        return old & value;
    case HOST_ATOMIC_OR:
        return old | value;
    case HOST_ATOMIC_XOR:
        return old ^ value;
    case HOST_ATOMIC_XCHG:
    case HOST_ATOMIC_CAS:
        return value;
    default:
        return dtype_is_float(t) ? combine_float(kind, t, old, value)
                                 : combine_int(kind, t, old, value);
    }
}

// Every kind is a compare-and-swap loop; so is what the hardware does not have.
#define ATOMIC_ON(T)                                                                               \
    static uint64_t atomic_##T(T *p, const host_site *site, uint64_t compare, uint64_t value) {    \
        T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);                                              \
        for (;;) {                                                                                 \
            if (site->atomic == HOST_ATOMIC_CAS && old != (T)compare)                              \
                return old;                                                                        \
            T next = (T)combine(site->atomic, site->elem, old, value);                             \
            if (__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,                \
                                            __ATOMIC_SEQ_CST))                                     \
                return old;                                                                        \
        }                                                                                          \
    }
ATOMIC_ON(uint8_t)
ATOMIC_ON(uint16_t)
ATOMIC_ON(uint32_t)
ATOMIC_ON(uint64_t)

static uint64_t atomic_one(const host_site *site, uint64_t pointer, uint64_t compare,
                           uint64_t value) {
    void *p = (void *)(uintptr_t)pointer;
    switch (dtype_bytes(site->elem)) {
    case 1:
        return atomic_uint8_t(p, site, compare, value);
    case 2:
        return atomic_uint16_t(p, site, compare, value);
    case 4:
        return atomic_uint32_t(p, site, compare, value);
    default:
        return atomic_uint64_t(p, site, compare, value);
    }
}

static uint64_t get_lane(const void *values, unsigned lane, unsigned bytes) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)values + lane * bytes, bytes); // both hosts are little-endian
    return bits;
}

void host_atomic(host_warp *w, uint32_t site_index, uint64_t base, const void *places,
                 const void *compares, const void *values, void *old, uint32_t mask) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem);
    uint64_t room[HOST_LANES];
    const uint64_t *pointers = find_addresses(site, base, places, room);
    check_lanes(w, site_index, pointers, mask);
    for (unsigned lane = 0; lane < HOST_LANES; lane++) {
        uint64_t bits = 0;
        if (mask >> lane & 1)
            bits = atomic_one(site, pointers[lane], get_lane(compares, lane, bytes),
                              get_lane(values, lane, bytes));
        memcpy((char *)old + lane * bytes, &bits, bytes);
    }
}

uint64_t host_atomic_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint64_t compare,
                            uint64_t value, uint32_t active) {
    if (!active)
        return 0;
    check_access(w, site, pointer, -1);
    return atomic_one(&w->sites[site], pointer, compare, value);
}

// ---------------------------------------------------------------------------- shared memory

// A mistake here is the compiler's, so the check is against the block's whole size only.
static uint8_t *check_shared(host_warp *w, const uint32_t *ctas, unsigned lane, uint32_t offset,
                             uint32_t bytes) {
    if (offset > w->shared_bytes || w->shared_bytes - offset < bytes)
        host_fail(w, HOST_OUT_OF_BOUNDS, HOST_NO_SITE, -1,
                  "access of %u bytes at offset %u of %u bytes of shared memory (a compiler error)",
                  bytes, offset, w->shared_bytes);
    uint8_t *memory = ctas ? host_shared_of(w, ctas[lane]) : w->shared;
    if (!memory)
        host_fail(w, HOST_OUT_OF_BOUNDS, HOST_NO_SITE, -1,
                  "access to the shared memory of CTA %u, which is not running (a compiler error)",
                  ctas[lane]);
    return memory + offset;
}

void host_shared_load(host_warp *w, uint32_t bytes, uint32_t vec, const uint32_t *ctas,
                      const uint32_t *offsets, void *values) {
    for (unsigned lane = 0; lane < HOST_LANES; lane++) {
        const uint8_t *from = check_shared(w, ctas, lane, offsets[lane], bytes * vec);
        for (unsigned k = 0; k < vec; k++)
            memcpy((char *)values + (k * HOST_LANES + lane) * bytes, from + k * bytes, bytes);
    }
}

void host_shared_store(host_warp *w, uint32_t bytes, uint32_t vec, const uint32_t *ctas,
                       const uint32_t *offsets, const void *values, uint32_t mask) {
    for (unsigned lane = 0; lane < HOST_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint8_t *to = check_shared(w, ctas, lane, offsets[lane], bytes * vec);
        for (unsigned k = 0; k < vec; k++)
            memcpy(to + k * bytes, (const char *)values + (k * HOST_LANES + lane) * bytes, bytes);
    }
}

void host_shared_count(host_warp *w, const uint32_t *offsets, uint32_t mask) {
    for (unsigned lane = 0; lane < HOST_LANES; lane++) {
        uint32_t count;
        if (!(mask >> lane & 1))
            continue;
        uint8_t *at = check_shared(w, NULL, lane, offsets[lane], sizeof count);
        memcpy(&count, at, sizeof count);
        count++;
        memcpy(at, &count, sizeof count);
    }
}
