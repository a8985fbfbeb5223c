// device_print on the cpu device: a line per element, in the form Triton prints,
//   pid (0, 0, 0) idx ( 12) x: 3.500000
#include "codegen/host_rt.h"

#include <stdio.h>

enum { LINE_BYTES = 512 };

static int digits_of(uint32_t largest) {
    int n = 1;
    for (; largest >= 10; largest /= 10)
        n++;
    return n;
}

/// Writes the coordinates of a row-major index, each as wide as the largest in its dimension.
static int put_index(char *line, int size, const host_site *site, uint32_t index) {
    uint32_t coordinates[IR_MAX_RANK];
    for (unsigned d = site->rank; d-- > 0;) {
        coordinates[d] = index % site->shape[d];
        index /= site->shape[d];
    }
    int n = snprintf(line, (size_t)size, " idx (");
    for (unsigned d = 0; d < site->rank; d++)
        n += snprintf(line + n, (size_t)(size - n), "%s%*u", d ? ", " : "",
                      digits_of(site->shape[d] - 1), coordinates[d]);
    return n + snprintf(line + n, (size_t)(size - n), ")");
}

static int put_value(char *line, int size, dtype t, uint64_t bits) {
    if (dtype_is_float(t))
        return snprintf(line, (size_t)size, "%f", dtype_bits_to_float(t, bits));
    if (t == DT_PTR)
        return snprintf(line, (size_t)size, "0x%llx", (unsigned long long)bits);
    long long v = dtype_wrap_int(t, (int64_t)bits);
    return dtype_is_signed(t) ? snprintf(line, (size_t)size, "%lld", v)
                              : snprintf(line, (size_t)size, "%llu", (unsigned long long)v);
}

static void print_one(const host_warp *w, const host_site *site, uint32_t index,
                      const void *value) {
    char line[LINE_BYTES];
    uint64_t bits = 0;
    int n = snprintf(line, sizeof(line), "pid (%d, %d, %d)", w->program_id[0], w->program_id[1],
                     w->program_id[2]);
    n += put_index(line + n, LINE_BYTES - n, site, index);
    n += snprintf(line + n, (size_t)(LINE_BYTES - n), "%.128s", site->text);
    if (site->elem != DT_VOID) {
        memcpy(&bits, value, dtype_bytes(site->elem));
        n += put_value(line + n, LINE_BYTES - n, site->elem, bits);
    }
    snprintf(line + n, (size_t)(LINE_BYTES - n), "\n");
    fputs(line, stdout); // one call, so that lines of several threads do not mix
}

void host_print(host_warp *w, uint32_t site_index, const uint32_t *indices, const void *values,
                uint32_t mask) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        print_one(w, site, indices[lane], (const char *)values + lane * bytes);
    }
}
