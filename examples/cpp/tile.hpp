// tile for C++17: objects that free themselves, and errors as exceptions. Everything is tile.h's;
// its comments hold. Objects move and do not copy; a Kernel is a plain handle that lives as long as
// its Module, and a Device must outlive what was made from it.
#pragma once

#include <tile.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tile {

struct Error : std::runtime_error {
    tile_status status;
    Error(tile_status status, const std::string &text) : std::runtime_error(text), status(status) {}
};

/// Calls a function of tile.h with these arguments and an error object; throws what it reports.
template <class F, class... A> void call(F function, A... arguments) {
    tile_error error = {};
    if (tile_status status = function(arguments..., &error)) {
        std::string text = error.log ? error.log : error.message;
        tile_error_clear(&error);
        throw Error(status, text);
    }
}

template <auto destroy> struct Destroy {
    template <class T> void operator()(T *object) const { destroy(object); }
};
template <class T, auto destroy> using Owner = std::unique_ptr<T, Destroy<destroy>>;

// --- arguments: typed as C++ types them. fp16, bf16 and fp8 pointers need their name.
template <class T> constexpr const char *dtype() {
    static_assert(std::is_arithmetic_v<T>, "give the element type by name");
    constexpr const char *ints[2][4] = {{"u8", "u16", "u32", "u64"}, {"i8", "i16", "i32", "i64"}};
    constexpr int log2 = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 2 : sizeof(T) == 2 ? 1 : 0;
    if constexpr (std::is_same_v<T, bool>)
        return "i1";
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? "fp32" : "fp64";
    else
        return ints[std::is_signed_v<T>][log2];
}

inline tile_arg pointer(const void *p, const char *type) {
    tile_arg a = {};
    a.kind = TILE_ARG_POINTER, a.dtype = type, a.value.pointer = p;
    return a;
}

struct Arg : tile_arg {
    Arg(tile_arg a) : tile_arg(a) {}
    template <class T> Arg(T *p) : tile_arg(pointer(p, tile::dtype<std::remove_cv_t<T>>())) {}
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> Arg(T v) : tile_arg() {
        kind = TILE_ARG_SCALAR, dtype = tile::dtype<T>();
        if constexpr (std::is_floating_point_v<T>)
            value.f = v;
        else
            value.i = static_cast<int64_t>(v);
    }
    Arg(std::nullptr_t) : tile_arg() { kind = TILE_ARG_NONE; }
};

/// The argument of the parameter that is called `name`; numbers will do for constexprs as well.
inline Arg named(const char *name, Arg a) {
    a.name = name;
    return a;
}

/// Launch options: the grid, and what else differs from the defaults.
struct Grid : tile_launch_options {
    Grid(uint32_t x, uint32_t y = 1, uint32_t z = 1) : tile_launch_options() {
        size = sizeof(tile_launch_options);
        grid[0] = x, grid[1] = y, grid[2] = z;
    }
    Grid &warps(uint32_t n) { return num_warps = n, *this; }
    Grid &ctas(uint32_t n) { return num_ctas = n, *this; }
    Grid &on(tile_stream *s) { return stream = s, *this; }
};

class Kernel {
    tile_kernel *k;

  public:
    explicit Kernel(tile_kernel *k) : k(k) {}
    void launch(const Grid &options, std::initializer_list<Arg> args) const {
        std::vector<tile_arg> list(args.begin(), args.end());
        call(tile_launch, k, list.data(), static_cast<uint32_t>(list.size()), &options);
    }
    tile_kernel_info warmup(const Grid &options, std::initializer_list<Arg> args) const {
        std::vector<tile_arg> list(args.begin(), args.end());
        tile_kernel_info info;
        call(tile_warmup, k, list.data(), static_cast<uint32_t>(list.size()), &options, &info);
        return info;
    }
};

class Module {
    Owner<tile_module, tile_module_destroy> m;

  public:
    Module(tile_device *device, const std::string &path) {
        tile_module *module;
        call(tile_module_load_file, device, path.c_str(), &module);
        m.reset(module);
    }
    Kernel operator[](const char *name) const {
        tile_kernel *k;
        call(tile_module_get_kernel, m.get(), name, &k);
        return Kernel(k);
    }
};

/// `size` elements of device memory.
template <class T> class Buffer {
    Owner<tile_buffer, tile_buffer_destroy> b;

  public:
    Buffer(tile_device *device, size_t size) {
        tile_buffer *buffer;
        call(tile_buffer_create, device, size * sizeof(T), &buffer);
        b.reset(buffer);
    }
    Buffer(tile_device *device, const std::vector<T> &host) : Buffer(device, host.size()) {
        call(tile_copy_to_device, b.get(), size_t(0), host.data(), host.size() * sizeof(T),
             static_cast<tile_stream *>(nullptr));
    }
    T *data() const { return static_cast<T *>(tile_buffer_data(b.get())); }
    operator Arg() const { return pointer(tile_buffer_data(b.get()), dtype<T>()); }
    std::vector<T> read() const {
        std::vector<T> host(tile_buffer_size(b.get()) / sizeof(T));
        call(tile_copy_to_host, host.data(), b.get(), size_t(0), host.size() * sizeof(T),
             static_cast<tile_stream *>(nullptr));
        return host;
    }
};

class Device {
    Owner<tile_device, tile_device_close> d;

  public:
    explicit Device(const char *name) {
        tile_device *device;
        call(tile_device_open, name, &device);
        d.reset(device);
    }
    operator tile_device *() const { return d.get(); }
    Module load(const std::string &path) const { return Module(d.get(), path); }
    void synchronize() const {
        call(tile_synchronize, d.get(), static_cast<tile_stream *>(nullptr));
    }
};

} // namespace tile
