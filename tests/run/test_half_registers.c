// Two kernels that ptxas of CUDA 13.0 got wrong at -O2: a float became a 16-bit integer, its copy
// kept the upper half of the register it went to, and the widening that followed was dropped, so
// that atomics went to addresses far away, and what was 0 was not. Found by random programs; smaller
// ones are right.
#include "run.h"

static const char far_source[] =
    "def k(b0: *u16, b1: *fp16, b2: *u16, b3: *fp32, b4: *fp32, b5: *u16, b6: *i64, b7: "
    "*u16, b8: *u16, b9: *fp16, n0: i32):\n"
    "    v2 = load(((b0 + arange(13, 21)[None, :]) + full([16, 1], 0, i32)))\n"
    "    v4 = load((b1 + full([16, 8], 0, i32)))\n"
    "    v5 = load((b2 + tl.view(arange(0, 64), [1, 64])), mask=tl.max(full([2, 64], "
    "False, i1), axis=-2).view([1, 64]).to(i1)).cat(tl.max(tl.reshape(full([16, 8], 1.0, "
    "fp16), [2, 64]), axis=-2).reshape([1, 64]).to(u16), dim=1).T.trans(1, 0).xor_sum(axis=0)\n"
    "    tl.atomic_max((b3 + tl.cast(tl.sum(v5.view([4, 32]), "
    "axis=0).to(fp16).to(tl.uint16), i64)), tl.sum(tl.load((b4 + (tl.cast(view(v2, [1, "
    "128]).broadcast_to([2, 128]).reshape([8, 1, 32]), tl.int32) & 511))), "
    "axis=-3).squeeze(0))\n"
    "    v6 = (full([32], 0, i32) + b5)\n"
    "    v7 = load(v6)\n"
    "    for v9 in range(0, tl.min(v4, axis=None).to(tl.int32), 1):\n"
    "        v7 = load(v6, mask=tl.cast(tl.cast(v5, tl.int1).reshape([4, "
    "32]).min(axis=-2), tl.int1))\n"
    "        tl.store(v6, full([32], 0, u16))\n"
    "        v6 = (v6 + (-8))\n"
    "    v10 = (~view(v5, [8, 16])).permute(1, 0)\n"
    "    v11 = (full([8, 16], 0, i32) + b6)\n"
    "    v12 = load(v11)\n"
    "    for v13 in range(0, where(tl.xor_sum(tl.cast(tl.view(v5, [16, 4, 2]), i1), "
    "axis=None), tl.where(full((), False, i1), full((), 0, i32), "
    "v4.to(tl.uint16).max(axis=None).to(tl.uint16)), tl.argmax(tl.full([256], "
    "tl.sum(full([128], 0.0, fp16), axis=None), tl.float16).to(tl.int32), axis=-1)), 1):\n"
    "        v12 = (full([8, 16], 1, i64) + load(v11, mask=tl.cast(view(v10, [8, 16]), i1)))\n"
    "        tl.store(v11, cat(full([8, 8], 0, i64), "
    "tl.reshape(tl.max(v2.to(tl.int64).view([64, 2]), axis=1), [8, 8]), dim=1))\n"
    "    tl.store((b6 + full([8, 16], 0, i32)), v12)\n"
    "    tl.store((tl.view(arange(0, 128), [16, 8]) + b7), v10)\n"
    "    tl.store((b8 + full([32], 0, i32)), v7)\n"
    "    tl.store((b7 + arange(0, 128)), v5)\n"
    "    tl.store(((b9 + full([8], 0, i32)[None, :]) + full([16, 1], 0, i32)), v4)\n";

static void check_far(void) {
    tile_module *mod;
    tile_kernel *k = kernel_from(far_source, "k", &mod);
    uint16_t index[512];
    float table[512], at[16], got[16];
    for (int i = 0; i < 512; i++) {
        index[i] = (uint16_t)(random_u32() % 512);
        table[i] = (float)(random_u32() % 64) - 32;
    }
    for (int i = 0; i < 16; i++)
        at[i] = -1000;
    static const struct {
        const char *type;
        size_t bytes;
    } others[] = {{"fp16", 512}, {"u16", 512}, {"u16", 64},  {"i64", 1024},
                  {"u16", 512},  {"u16", 256}, {"fp16", 256}};
    tile_buffer *zeros[7];
    for (int i = 0; i < 7; i++) {
        char bytes[1024] = {0};
        zeros[i] = buffer_from(bytes, others[i].bytes);
    }
    tile_buffer *di = buffer_from(index, sizeof index), *dt = buffer_from(table, sizeof table);
    for (uint32_t warps = 1; warps <= 8; warps *= 2) {
        tile_buffer *da = buffer_from(at, sizeof at);
        tile_arg args[] = {TILE_BUFFER(di, "u16"),
                           TILE_BUFFER(zeros[0], "fp16"),
                           TILE_BUFFER(zeros[1], "u16"),
                           TILE_BUFFER(da, "fp32"),
                           TILE_BUFFER(dt, "fp32"),
                           TILE_BUFFER(zeros[2], "u16"),
                           TILE_BUFFER(zeros[3], "i64"),
                           TILE_BUFFER(zeros[4], "u16"),
                           TILE_BUFFER(zeros[5], "u16"),
                           TILE_BUFFER(zeros[6], "fp16"),
                           TILE_I32(100)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 11, &o, &err));
        read_buffer(da, got, sizeof got);
        float want = -1000;
        for (int i = 13; i < 21; i++)
            want = table[index[i]] * 8 > want ? table[index[i]] * 8 : want;
        for (int i = 0; i < 16; i++)
            expect(got[i] == (i == 2 ? want : -1000), "%u warps: maximum %d is %g, expected %g",
                   warps, i, got[i], i == 2 ? want : -1000);
        tile_buffer_destroy(da);
    }
    for (int i = 0; i < 7; i++)
        tile_buffer_destroy(zeros[i]);
    tile_buffer_destroy(di);
    tile_buffer_destroy(dt);
    tile_module_destroy(mod);
}

static const char loop_source[] =
    "def k(b0: *fp16, b1: *u16, b2: *fp16, b3: *u16, b4: *fp16):\n"
    "    v2 = load(b0 + full([32, 32], 0, i32))\n"
    "    v8 = reshape(tl.view(v2, [512, 2]).to(u16), [1024])\n"
    "    v9 = 0\n"
    "    while (v9 < 2) & (xor_sum(load(b1 + arange(0, 256), cache_modifier='.cg'), axis=-1) > "
    "13):\n"
    "        v10 = 0\n"
    "        while (v10 < 3) & (load(v2.reshape([16, 64]).to(i32).sum(axis=None) + b2, "
    "mask=reduce_or(full([1024], False, i1), axis=None), cache_modifier='.cg') >= -4.0):\n"
    "            v10 = v10 + 1\n"
    "        v2 = load(full([32, 32], 0, i32) + b0, mask=reshape(v8.to(i1), [32, 32]))\n"
    "        v9 = v9 + 1\n"
    "    store(arange(0, 1024) + b3, v8)\n"
    "    store(b4 + full([32, 32], 0, i32), v2)\n";

/// A mask from a float that is 0 as an integer.
static void check_loop(void) {
    tile_module *mod;
    tile_kernel *k = kernel_from(loop_source, "k", &mod);
    static const uint16_t x[1] = {0xBD00}; // -1.25
    uint16_t numbers[256] = {1000}, y[1024], z[1];
    tile_buffer *d[] = {buffer_from(x, sizeof x), buffer_from(numbers, sizeof numbers),
                        buffer_from(x, sizeof x), buffer_from(NULL, sizeof y),
                        buffer_from(NULL, sizeof z)};
    static const char *const types[] = {"fp16", "u16", "fp16", "u16", "fp16"};
    tile_arg args[5];
    for (int i = 0; i < 5; i++)
        args[i] = TILE_BUFFER(d[i], types[i]);
    for (uint32_t warps = 1; warps <= 16; warps *= 2) {
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_fill(d[4], 0, 0xFF, sizeof z, NULL, &err));
        must(tile_launch(k, args, 5, &o, &err));
        read_buffer(d[3], y, sizeof y);
        read_buffer(d[4], z, sizeof z);
        expect(z[0] == 0, "%u warps: 0x%x is not 0", warps, z[0]);
        for (int i = 0; i < 1024; i++)
            expect(y[i] == 0, "%u warps: element %d is %d", warps, i, y[i]);
    }
    for (int i = 0; i < 5; i++)
        tile_buffer_destroy(d[i]);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    check_far();
    check_loop();
    return finish();
}
