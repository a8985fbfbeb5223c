// Loads that run ahead bring the very bits, through registers and through shared memory: every element
// type, aligned and odd rows, masks of all shapes, no rows at all, and buffers that end with the last
// row. A kernel folds the bits of rows together, or stores them in the loop as well, which keeps it to
// registers; a reference in C says what must arrive.
#include "run.h"

enum { BLOCK = 512, MOST_ROWS = 9, MOST_BYTES = 8, ODD = 3 };

typedef struct element_type {
    const char *name;
    unsigned bytes;
    bool is_float;
} element_type;

static const element_type types[] = {
    {"i1", 1, false},  {"i8", 1, false},  {"fp8e5", 1, true}, {"i16", 2, false}, {"fp16", 2, true},
    {"bf16", 2, true}, {"i32", 4, false}, {"fp32", 4, true},  {"i64", 8, false}, {"fp64", 8, true},
};

/// Which elements of row i are read, as the kernel says it and as C does.
typedef struct mask_form {
    const char *text; ///< NULL: no mask
    bool (*is_on)(int i, int j, int m);
} mask_form;

static bool all_on(int i, int j, int m) { return (void)i, (void)j, (void)m, true; }
static bool first_on(int i, int j, int m) { return (void)i, j < m; }
static bool last_on(int i, int j, int m) { return (void)i, j >= m; }
static bool some_on(int i, int j, int m) { return j < m && i % 3 != 1; }
static bool few_on(int i, int j, int m) { return (void)m, (i + j) % 3 == 0; }

static const mask_form masks[] = {
    {NULL, all_on},
    {"o < m", first_on},
    {"o >= m", last_on},
    {"(o < m) & (i % 3 != 1)", some_on},
    {"(i + o) % 3 == 0", few_on},
};

static uint8_t x[(MOST_ROWS * (BLOCK + ODD)) * MOST_BYTES], rows[MOST_ROWS * BLOCK * MOST_BYTES];
static int64_t folded[BLOCK];

/// The kernel of one type and mask. PITCH is the distance of rows.
static tile_kernel *make_kernel(const element_type *t, const mask_form *form, bool with_other,
                                bool stores, tile_module **mod) {
    char source[1024], mask[256] = "", bits[64] = "";
    if (form->text)
        snprintf(mask, sizeof mask, ", mask=%s%s", form->text, with_other ? ", other=1" : "");
    if (t->is_float)
        snprintf(bits, sizeof bits, ".to(i%u, bitcast=True)", 8 * t->bytes);
    snprintf(source, sizeof source,
             "@triton.jit(do_not_specialize=['n'])\n"
             "def k(x: *const %s, y: *%s, z: *i64, n: i32, m: i32, PITCH: constexpr, STAGES: "
             "constexpr):\n"
             "    o = arange(0, %d)\n"
             "    sum = zeros([%d], i64)\n"
             "    for i in tl.range(0, n, num_stages=STAGES):\n"
             "        v = load(x + i * PITCH + o%s)\n"
             "%s"
             "        sum = sum * 31 + v%s.to(i64)\n"
             "    store(z + o, sum)\n",
             t->name, t->name, BLOCK, BLOCK, mask,
             stores ? "        store(y + i * 512 + o, v)\n" : "", bits);
    return kernel_from(source, "k", mod);
}

/// The bits of the number 1 in a type, little-endian.
static uint64_t one_of(const element_type *t) {
    static const struct {
        const char *name;
        uint64_t bits;
    } ones[] = {{"fp8e5", 0x3c},
                {"fp16", 0x3c00},
                {"bf16", 0x3f80},
                {"fp32", 0x3f800000},
                {"fp64", 0x3ff0000000000000}};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (!strcmp(t->name, ones[i].name))
            return ones[i].bits;
    return 1;
}

typedef struct run_form {
    const element_type *type;
    const mask_form *mask;
    uint64_t other;
    bool stores;
    int pitch, stages;
} run_form;

/// The bits that row i must have at place j, sign-extended.
static int64_t bits_at(const run_form *r, int i, int j, int m) {
    unsigned bytes = r->type->bytes;
    uint64_t v = 0;
    if (r->mask->is_on(i, j, m))
        memcpy(&v, x + ((size_t)i * (size_t)r->pitch + (size_t)j) * bytes, bytes);
    else
        v = r->other;
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(v << unused) >> unused;
}

static void check(tile_kernel *k, const run_form *r, int n) {
    const char *name = r->type->name;
    unsigned bytes = r->type->bytes;
    // x ends where its last row ends.
    tile_buffer *dx = buffer_from(x, n ? ((size_t)(n - 1) * (size_t)r->pitch + BLOCK) * bytes : 0);
    tile_buffer *dy = buffer_from(NULL, sizeof rows), *dz = buffer_from(NULL, sizeof folded);
    int m = n % 2 ? 333 : 512;
    tile_arg args[] = {TILE_BUFFER(dx, name),
                       TILE_BUFFER(dy, name),
                       TILE_BUFFER(dz, "i64"),
                       TILE_I32(n),
                       TILE_I32(m),
                       TILE_CONSTEXPR_INT("PITCH", r->pitch),
                       TILE_CONSTEXPR_INT("STAGES", r->stages)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 4};
    must(tile_launch(k, args, 7, &o, &err));
    read_buffer(dy, rows, sizeof rows);
    read_buffer(dz, folded, sizeof folded);
    for (int j = 0; j < BLOCK; j++) {
        uint64_t want = 0;
        bool ok = true;
        for (int i = 0; i < n; i++) {
            int64_t bits = bits_at(r, i, j, m);
            want = want * 31 + (uint64_t)bits;
            ok = ok && (!r->stores ||
                        !memcmp(rows + ((size_t)i * BLOCK + (size_t)j) * bytes, &bits, bytes));
        }
        if (!expect(ok && folded[j] == (int64_t)want,
                    "%s, mask %s, pitch %d, %d stages%s: element %d of %d rows", name,
                    r->mask->text ? r->mask->text : "none", r->pitch, r->stages,
                    r->stores ? ", stored" : "", j, n))
            break;
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_buffer_destroy(dz);
}

static void run(const element_type *t, const mask_form *f, bool with_other, bool stores) {
    tile_module *mod;
    tile_kernel *k = make_kernel(t, f, with_other, stores, &mod);
    for (int pitch = BLOCK; pitch <= BLOCK + ODD; pitch += ODD)
        for (int stages = stores ? 2 : 3; stages <= (stores ? 2 : 4); stages++)
            for (int n = 0; n <= MOST_ROWS; n += n < 5 ? 1 : 4) {
                run_form r = {t, f, with_other ? one_of(t) : 0, stores, pitch, stages};
                check(k, &r, n);
            }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < sizeof x; i++)
            x[i] = (uint8_t)(t == 0 ? random_u32() & 1 : random_u32() & 0x3f); // no NaN
        for (size_t f = 0; f < sizeof masks / sizeof *masks; f++)
            for (int stores = 0; stores < 2; stores++)
                run(&types[t], &masks[f], (t + f) % 2, stores);
    }
    return finish();
}
