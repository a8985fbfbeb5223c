// device_print on the cpu device: a line per element, in the form Triton prints,
//   pid (0, 0, 0) idx ( 12) x: 3.500000
#include "codegen/host_rt.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

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

/// All NaNs print alike.
static void put_value(char *line, size_t size, const host_site *site, uint64_t bits) {
    dtype t = site->elem;
    unsigned long long v = (unsigned long long)dtype_wrap_int(t, (int64_t)bits);
    double f = dtype_is_float(t) ? dtype_bits_to_float(t, bits) : 0;
    if (t == DT_PTR)
        snprintf(line, size, "0x%llx", (unsigned long long)bits);
    else if (site->hex)
        snprintf(line, size, "0x%0*llx", (int)(dtype_bits(t) + 3) / 4, (unsigned long long)bits);
    else if (dtype_is_float(t))
        snprintf(line, size, "%f", isnan(f) ? NAN : f);
    else
        snprintf(line, size, dtype_is_signed(t) ? "%lld" : "%llu", v);
}

static void print_one(const host_warp *w, const host_site *site, uint32_t index,
                      const void *value) {
    enum { INDEX_BYTES = 160, VALUE_BYTES = 352 }; // the largest double has 309 digits
    char place[INDEX_BYTES] = "", text[VALUE_BYTES] = "";
    uint64_t bits = 0;
    if (site->elem != DT_VOID) {
        put_index(place, INDEX_BYTES, site, index);
        memcpy(&bits, value, dtype_bytes(site->elem));
        put_value(text, VALUE_BYTES, site, bits);
    }
    printf("pid (%d, %d, %d)%s%s%s\n", w->program_id[0], w->program_id[1], w->program_id[2], place,
           site->text, text); // one call, so that lines of several launches do not mix
}

void host_print(host_warp *w, uint32_t site_index, const uint32_t *indices, const void *values,
                uint32_t mask) {
    const host_site *site = &w->sites[site_index];
    unsigned bytes = dtype_bytes(site->elem);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c_locale);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        print_one(w, site, indices[lane], (const char *)values + lane * bytes);
    }
    uselocale(before);
    if (c_locale)
        freelocale(c_locale);
}
