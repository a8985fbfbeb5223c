// Entries of the on-disk cache: any bytes, also with a checksum that fits them, are refused or read
// back as an entry that is written the same way; and of an entry that was written, no byte can change
// without its being refused.
#include "fuzz.h"
#include "runtime/rt.h"

#include <string.h>

enum { NUM_PARAMS = 3 };
static const sv identity = {"what all variants have in common", 32};

static void drop(rt_spec *s) {
    rt_binary_free(&s->binary);
    free(s->key);
    *s = (rt_spec){0};
}

static uint8_t *encode(const rt_spec *s, size_t *size) {
    return rt_entry_encode(&s->binary, NUM_PARAMS, identity, (sv){(char *)s->key, s->key_len},
                           size);
}

/// Reads it as it is, and once more as whoever forges checksums would have written it.
static void read_any(const uint8_t *data, size_t size) {
    rt_spec s = {0};
    if (rt_entry_decode(data, size, NUM_PARAMS, identity, &s))
        drop(&s);
    uint8_t *sealed = malloc(size + 1);
    FUZZ_CHECK(sealed, "out of memory");
    memcpy(sealed, data, size);
    rt_entry_seal(sealed, size);
    if (rt_entry_decode(sealed, size, NUM_PARAMS, identity, &s)) {
        rt_spec back = {0};
        size_t n;
        uint8_t *written = encode(&s, &n);
        FUZZ_CHECK(written && n == size, "an entry is written with another size than it was read");
        FUZZ_CHECK(rt_entry_decode(written, n, NUM_PARAMS, identity, &back),
                   "it does not read back");
        FUZZ_CHECK(!strcmp(back.binary.ptx, s.binary.ptx) &&
                       back.binary.shared_bytes == s.binary.shared_bytes,
                   "it reads back as another");
        free(written);
        drop(&back);
        drop(&s);
    }
    free(sealed);
}

/// Writes an entry with the input in it, and changes one byte, which the input chooses.
static void change_one(const uint8_t *data, size_t size) {
    size_t at, n;
    if (size < sizeof at + 1)
        return;
    memcpy(&at, data, sizeof at);
    rt_spec s = {.key = (uint8_t *)data, .key_len = size < 64 ? (uint32_t)size : 64};
    s.binary = (rt_binary){.entry = "k",
                           .ptx = "// PTX",
                           .image = (uint8_t *)data,
                           .image_bytes = size,
                           .num_warps = 4,
                           .num_ctas = 1,
                           .num_params = 1,
                           .param_bytes = {8}};
    uint8_t *entry = encode(&s, &n);
    FUZZ_CHECK(entry, "out of memory");
    rt_spec back = {0};
    FUZZ_CHECK(rt_entry_decode(entry, n, NUM_PARAMS, identity, &back), "it does not read back");
    FUZZ_CHECK(back.binary.image_bytes == size && !memcmp(back.binary.image, data, size) &&
                   back.key_len == s.key_len && !memcmp(back.key, data, s.key_len),
               "it reads back as another");
    drop(&back);
    FUZZ_CHECK(!rt_entry_decode(entry, n, NUM_PARAMS, SV("another"), &back), "of another identity");
    entry[at % n] ^= (uint8_t)(data[sizeof at] | 1);
    FUZZ_CHECK(!rt_entry_decode(entry, n, NUM_PARAMS, identity, &back), "a change is not seen");
    FUZZ_CHECK(!rt_entry_decode(entry, at % n, NUM_PARAMS, identity, &back), "it was cut short");
    free(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_any(data, size);
    change_one(data, size);
    return 0;
}
