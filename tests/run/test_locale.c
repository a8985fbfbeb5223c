// An application may have set a locale that writes 1,5: the compiler reads and writes 1.5 all the
// same, and leaves the application's locale as it was. The locale is made here, by localedef.
#include "run.h"

#include <locale.h>
#include <unistd.h>

/// Sets a locale with a decimal comma; false if this machine has none and cannot make one.
static bool set_comma_locale(char *dir) {
    char text[512];
    if (!mkdtemp(dir))
        return false;
    snprintf(text, sizeof text, "%s/comma.src", dir);
    FILE *f = fopen(text, "w");
    if (!f)
        return false;
    fputs("LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\ngrouping 3;3\n"
          "END LC_NUMERIC\n",
          f);
    fclose(f);
    snprintf(text, sizeof text,
             "cd %s && localedef -c -i ./comma.src -f UTF-8 ./comma 2>/dev/null >&2", dir);
    int status = system(text); // localedef warns of the categories that are left out
    (void)status;
    setenv("LOCPATH", dir, 1);
    return setlocale(LC_NUMERIC, "comma") && localeconv()->decimal_point[0] == ',';
}

static void remove_dir(const char *dir) {
    char command[512];
    snprintf(command, sizeof command, "rm -r %s", dir);
    expect(!system(command), "%s is left behind", dir);
}

static const char source[] = "HALF = 0.5\n"
                             "def k(x: *fp32, S: constexpr = 'none'):\n"
                             "    store(x, 1.25)\n"
                             "    store(x + 1, HALF)\n"
                             "    store(x + 2, float('2.75'))\n"
                             "    static_assert(f'{HALF}' == '0.5')\n"
                             "    static_assert(S == 1.5)\n"
                             "    store(x + 3, S)\n";

static const char ir_source[] =
    "func @k(%x: *fp32) {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
    "  %c: fp32 = const {value = 0.125}\n"
    "  store %x, %c\n"
    "  return\n"
    "}\n";

static void check(const char *name, const char *text, uint32_t num_args, const float *want,
                  unsigned n) {
    tile_module *mod;
    tile_kernel *k;
    float got[4] = {0};
    must(tile_module_load_string(dev, name, text, strlen(text), &mod, &err));
    must(tile_module_get_kernel(mod, "k", &k, &err));
    tile_buffer *x = buffer_from(NULL, sizeof got);
    tile_arg args[] = {TILE_POINTER(tile_buffer_data(x), "fp32"), TILE_CONSTEXPR_FLOAT("S", 1.5)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
    must(tile_launch(k, args, num_args, &o, &err));
    read_buffer(x, got, sizeof got);
    for (unsigned i = 0; i < n; i++)
        expect(got[i] == want[i], "%s: element %u", name, i);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
}

int main(void) {
    char dir[] = "/tmp/tile-locale-XXXXXX";
    open_test_device();
    if (!set_comma_locale(dir)) {
        printf("skipped: no locale with a decimal comma can be made here\n");
        return 77;
    }
    check("k.tile", source, 2, (const float[]){1.25f, 0.5f, 2.75f, 1.5f}, 4);
    check("k.tir", ir_source, 1, (const float[]){0.125f}, 1);
    expect(localeconv()->decimal_point[0] == ',', "the application's locale has changed");
    setlocale(LC_ALL, "C");
    remove_dir(dir);
    return finish();
}
