// Compiled kernels on disk, so that a later process compiles nothing. One file holds one binary: its
// PTX, its image where ptxas has made one, and what a launch must know of it. Where the driver is the
// assembler, it keeps the image of a PTX that it has met before in a cache of its own.
//
//     ~/.cache/tile/v1/3/3f…-8c…      v1: the format; 3: first digit of the name
//
// The first part of a name is the hash of the identity: all that the binary depends on but the
// divisibility of arguments. The second is that of the whole key, so that variants lie side by side
// and the one that serves a launch is found as it is among those in memory.
//
// Nobody waits for anybody. A file is written under another name and renamed when it is complete;
// what a killed process, a full disk or a failing machine leaves is no entry, or one whose checksum
// is wrong. The folders are ours alone: another user's, or one that others may write to, is not
// used, and no symbolic link is followed below them. Nothing here fails a launch.
#include "runtime/build_hash.h"
#include "runtime/rt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define FORMAT "v1" // of the entries and their names
enum {
    ENTRY_NAME = 32 + 1 + 16, ///< characters
    MAX_ENTRY_BYTES = 256 << 20,
    USED_AGAIN_S = 600, ///< an entry's time of use is this exact
    ABANDONED_S = 3600, ///< an unfinished file this old has nobody who writes it
};

// --- where

/// A number of bytes: 4096, 64K, 256M, 2G. False for anything else.
static bool parse_size(const char *text, uint64_t *out) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    *out = n << shift;
    return *text >= '0' && *text <= '9' && !errno && !end[unit != NULL] && *out >> shift == n;
}

/// The folder that the environment names; NULL: there is none. malloc'ed. *failed: no memory.
static char *default_directory(bool *failed) {
    const char *own = secure_getenv("TILE_CACHE_DIR"), *xdg = secure_getenv("XDG_CACHE_HOME"),
               *home = secure_getenv("HOME");
    char *path = NULL;
    int n = 0;
    if (own)
        n = asprintf(&path, "%s", own);
    else if (xdg && *xdg == '/')
        n = asprintf(&path, "%s/tile", xdg);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/.cache/tile", home);
    *failed = n < 0;
    return n < 0 ? NULL : path;
}

tile_status rt_cache_open(rt_cache *c, const char *directory, uint64_t max_bytes,
                          tile_error *error) {
    *c = (rt_cache){.max_bytes = max_bytes ? max_bytes : 256 << 20};
    const char *size = max_bytes ? NULL : secure_getenv("TILE_CACHE_SIZE");
    if (size && !parse_size(size, &c->max_bytes))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "TILE_CACHE_SIZE: expected a size such as 256M or 2G, got '%s'", size);
    bool failed = false;
    char *root = directory ? strdup(directory) : default_directory(&failed);
    failed |= directory && !root;
    if (root && *root && strcmp(root, "off") != 0 && asprintf(&c->path, "%s/" FORMAT, root) < 0) {
        c->path = NULL;
        failed = true;
    }
    free(root);
    return failed ? rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory") : TILE_OK;
}

void rt_cache_close(rt_cache *c) {
    free(c->path);
    c->path = NULL;
}

/// Whether nobody else can have put or changed it.
static bool is_private(const struct stat *st) {
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/// Opens a folder of ours, made now if asked for. -1 with errno if there is none that is private.
static int open_private(int at, const char *name, bool create) {
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int fd = openat(at, name, FLAGS);
    if (fd < 0 && errno == ENOENT && create && (!mkdirat(at, name, 0700) || errno == EEXIST))
        fd = openat(at, name, FLAGS);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !is_private(&st))) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

/// Makes the folders above the last one.
static void make_parents(const char *path) {
    char *copy = strdup(path);
    for (char *p = copy ? strchr(copy + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(copy, 0700);
        *p = '/';
    }
    free(copy);
}

/// The folder of the entries whose names begin with `digit`.
static int open_shard(const rt_cache *c, char digit, bool create) {
    if (create)
        make_parents(c->path);
    int root = open_private(AT_FDCWD, c->path, create);
    if (root < 0)
        return -1;
    int fd = open_private(root, (char[2]){digit}, create);
    int code = errno;
    close(root);
    errno = code;
    return fd;
}

// --- entries

/// How a file begins. After it come identity, key, entry name, PTX and image.
typedef struct entry_header {
    char magic[8];
    uint64_t bytes;      ///< of the file
    rt_hash checksum;    ///< of all that follows
    uint64_t lengths[5]; ///< of those parts; the texts with their NUL
    uint32_t num_warps, num_ctas, shared_bytes, num_params;
    uint8_t param_bytes[RT_MAX_PARAMS], relied_log2[RT_MAX_PARAMS], useful_log2[RT_MAX_PARAMS];
} entry_header;

enum { IDENTITY, KEY, NAME, PTX, IMAGE, PARTS, CHECKED = offsetof(entry_header, lengths) };
static const char entry_magic[8] = "tile " FORMAT;

static rt_hash checksum(const uint8_t *data, size_t size) {
    XXH128_hash_t h = XXH3_128bits(data + CHECKED, size - CHECKED);
    return (rt_hash){h.low64, h.high64};
}

uint8_t *rt_entry_encode(const rt_binary *b, uint32_t num_params, sv identity, sv key,
                         size_t *out_size) {
    const sv parts[PARTS] = {[IDENTITY] = identity,
                             [KEY] = key,
                             [NAME] = {b->entry, strlen(b->entry) + 1},
                             [PTX] = {b->ptx, strlen(b->ptx) + 1},
                             [IMAGE] = {b->image, b->image_bytes}};
    entry_header h = {.num_warps = b->num_warps,
                      .num_ctas = b->num_ctas,
                      .shared_bytes = b->shared_bytes,
                      .num_params = b->num_params};
    memcpy(h.param_bytes, b->param_bytes, b->num_params);
    memcpy(h.relied_log2, b->relied_log2, num_params);
    memcpy(h.useful_log2, b->useful_log2, num_params);
    size_t size = sizeof h;
    for (unsigned i = 0; i < PARTS; i++)
        size += h.lengths[i] = parts[i].len;
    uint8_t *data = malloc(size);
    if (!data)
        return NULL;
    uint8_t *at = data + sizeof h;
    for (unsigned i = 0; i < PARTS; at += parts[i].len, i++)
        memcpy(at, parts[i].data, parts[i].len);
    memcpy(data, &h, sizeof h);
    rt_entry_seal(data, size);
    *out_size = size;
    return data;
}

void rt_entry_seal(uint8_t *data, size_t size) {
    entry_header h;
    if (size < sizeof h)
        return;
    memcpy(&h, data, sizeof h);
    memcpy(h.magic, entry_magic, sizeof h.magic);
    h.bytes = size;
    h.checksum = checksum(data, size);
    memcpy(data, &h, sizeof h);
}

/// Whether a file has arrived as it was written.
static bool is_intact(const uint8_t *data, size_t size) {
    entry_header h;
    if (size < sizeof h)
        return false;
    memcpy(&h, data, sizeof h);
    rt_hash sum = checksum(data, size);
    return !memcmp(h.magic, entry_magic, sizeof h.magic) && h.bytes == size &&
           h.checksum.low == sum.low && h.checksum.high == sum.high;
}

/// Whether the numbers are those of a binary.
static bool is_sound(const entry_header *h, uint32_t num_params) {
    if (h->num_params > num_params || !h->num_warps || h->num_warps > 32 || !h->num_ctas ||
        h->num_ctas > 16)
        return false;
    for (uint32_t i = 0; i < h->num_params; i++)
        if (!h->param_bytes[i] || h->param_bytes[i] > 8)
            return false;
    for (uint32_t i = 0; i < num_params; i++)
        if (h->relied_log2[i] > 4 || h->useful_log2[i] > 4)
            return false;
    return true;
}

static void *copy_of(sv bytes) {
    void *p = malloc(bytes.len ? bytes.len : 1);
    if (p)
        memcpy(p, bytes.data, bytes.len);
    return p;
}

bool rt_entry_decode(const uint8_t *data, size_t size, uint32_t num_params, sv identity,
                     rt_spec *out) {
    if (!is_intact(data, size))
        return false;
    entry_header h;
    memcpy(&h, data, sizeof h);
    sv parts[PARTS];
    uint64_t left = size - sizeof h;
    const char *at = (const char *)data + sizeof h;
    for (unsigned i = 0; i < PARTS; at += parts[i].len, left -= parts[i].len, i++) {
        if (h.lengths[i] > left)
            return false;
        parts[i] = (sv){at, h.lengths[i]};
    }
    if (left || !is_sound(&h, num_params) || !sv_equal(parts[IDENTITY], identity) ||
        parts[KEY].len > RT_MAX_KEY)
        return false;
    for (unsigned i = NAME; i <= PTX; i++)
        if (!parts[i].len ||
            memchr(parts[i].data, 0, parts[i].len) != parts[i].data + parts[i].len - 1)
            return false;
    rt_binary b = {.entry = copy_of(parts[NAME]),
                   .ptx = copy_of(parts[PTX]),
                   .image = parts[IMAGE].len ? copy_of(parts[IMAGE]) : NULL,
                   .image_bytes = parts[IMAGE].len,
                   .num_warps = h.num_warps,
                   .num_ctas = h.num_ctas,
                   .shared_bytes = h.shared_bytes,
                   .num_params = h.num_params};
    memcpy(b.param_bytes, h.param_bytes, sizeof b.param_bytes);
    memcpy(b.relied_log2, h.relied_log2, sizeof b.relied_log2);
    memcpy(b.useful_log2, h.useful_log2, sizeof b.useful_log2);
    uint8_t *key = copy_of(parts[KEY]);
    if (!b.entry || !b.ptx || (!b.image && b.image_bytes) || !key) {
        rt_binary_free(&b);
        free(key);
        return false;
    }
    *out = (rt_spec){.key = key, .key_len = (uint32_t)parts[KEY].len, .binary = b};
    return true;
}

// --- what an entry depends on

/// What is looked for.
typedef struct request {
    const tile_kernel *kernel;
    const rt_bound *bound;
    char *identity; ///< a text, and the key without divisibility classes
    size_t identity_len;
    char name[ENTRY_NAME + 1];
} request;

/// The kernel module's version, which changes more often than the driver's: "" if it does not say.
static void read_driver_build(char *out, int size) {
    FILE *f = fopen("/proc/driver/nvidia/version", "re");
    if (!f || !fgets(out, size, f))
        *out = 0;
    if (f)
        fclose(f);
}

/// False without memory, and then nothing is to be freed.
static bool make_request(const tile_kernel *k, const rt_bound *bound, request *r) {
    const tile_module *m = k->module;
    const tile_device_info *info = &m->device->info;
    char driver[256], *compiler = rt_compiler_identity();
    read_driver_build(driver, sizeof driver);
    *r = (request){.kernel = k, .bound = bound};
    int n = !compiler ? -1
                      : asprintf(&r->identity,
                                 "build " TILE_SOURCE_HASH "\ncompiler %s\ndriver %u %s\ndevice %s "
                                 "%u\nsource %016" PRIx64 "%016" PRIx64 "\nkernel %s\n",
                                 compiler, info->driver_version, driver, info->arch,
                                 info->max_shared_bytes_per_block, m->source_hash.high,
                                 m->source_hash.low, k->name);
    free(compiler);
    if (n < 0)
        return false;
    r->identity_len = (size_t)n + bound->key_len;
    char *grown = realloc(r->identity, r->identity_len);
    if (!grown) {
        free(r->identity);
        return false;
    }
    r->identity = grown;
    memcpy(grown + n, bound->key, bound->key_len);
    rt_key_drop_classes((uint8_t *)grown + n, k->num_params);
    XXH128_hash_t h = XXH3_128bits(r->identity, r->identity_len);
    snprintf(r->name, sizeof r->name, "%016" PRIx64 "%016" PRIx64 "-%016" PRIx64, h.high64, h.low64,
             (uint64_t)XXH3_64bits(bound->key, bound->key_len));
    return true;
}

// --- reading

/// Reads a whole file of ours; NULL if it is none. malloc'ed.
static uint8_t *read_file(int fd, size_t *out_size, struct stat *st) {
    if (fd < 0 || fstat(fd, st) || !S_ISREG(st->st_mode) || !is_private(st) ||
        st->st_size > MAX_ENTRY_BYTES)
        return NULL;
    size_t size = (size_t)st->st_size, len = 0;
    uint8_t *data = malloc(size ? size : 1);
    while (data && len < size) {
        ssize_t n = read(fd, data + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    *out_size = len;
    return data;
}

/// Reads one entry and tells whether it serves. A broken one is removed.
static bool try_entry(int folder, const char *name, const request *r, rt_spec *out) {
    // Not blocking: it could have been made a pipe.
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    size_t size;
    uint8_t *data = read_file(fd, &size, &st);
    bool serves = false;
    if (data && !is_intact(data, size)) {
        unlinkat(folder, name, 0);
    } else if (data && rt_entry_decode(data, size, r->kernel->num_params,
                                       (sv){r->identity, r->identity_len}, out)) {
        serves = rt_key_served_by(r->kernel, out, r->bound->key, r->bound->key_len);
        if (!serves) {
            rt_binary_free(&out->binary);
            free(out->key);
            *out = (rt_spec){0};
        } else if (time(NULL) - st.st_mtime > USED_AGAIN_S) {
            futimens(fd, NULL);
        }
    }
    free(data);
    if (fd >= 0)
        close(fd);
    return serves;
}

bool rt_cache_find(const tile_kernel *k, const rt_bound *bound, rt_spec *out) {
    const tile_device *d = k->module->device;
    request r;
    if (!d->cache.path || !d->info.is_cuda || !make_request(k, bound, &r))
        return false;
    int fd = open_shard(&d->cache, r.name[0], false);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    bool found = false;
    for (struct dirent *e; folder && !found && (e = readdir(folder));)
        if (!strncmp(e->d_name, r.name, 32) && strlen(e->d_name) == ENTRY_NAME)
            found = try_entry(fd, e->d_name, &r, out);
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
    free(r.identity);
    return found;
}

// --- the bound on its size

typedef struct cache_file {
    char name[ENTRY_NAME + 1];
    char shard;
    bool is_unfinished;
    uint64_t bytes;
    struct timespec used;
} cache_file;

typedef struct file_list {
    cache_file *files;
    size_t len, cap;
    uint64_t bytes; ///< of the entries
    size_t entries;
} file_list;

static bool add_file(file_list *l, const cache_file *f) {
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        cache_file *grown = realloc(l->files, cap * sizeof *grown);
        if (!grown)
            return false;
        l->files = grown;
        l->cap = cap;
    }
    l->files[l->len++] = *f;
    if (!f->is_unfinished) {
        l->bytes += f->bytes;
        l->entries++;
    }
    return true;
}

/// Lists the files of one shard that we know by their names.
static bool list_shard(int fd, char shard, file_list *out) {
    DIR *folder = fdopendir(fd);
    bool ok = folder != NULL;
    for (struct dirent *e; ok && (e = readdir(folder));) {
        cache_file f = {.shard = shard, .is_unfinished = !strncmp(e->d_name, "new-", 4)};
        size_t n = strlen(e->d_name);
        struct stat st;
        if (n > ENTRY_NAME || (!f.is_unfinished && n != ENTRY_NAME) ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        memcpy(f.name, e->d_name, n + 1);
        f.bytes = (uint64_t)st.st_size;
        f.used = st.st_mtim;
        ok = add_file(out, &f);
    }
    if (folder)
        closedir(folder);
    else
        close(fd);
    return ok;
}

static bool list_all(const rt_cache *c, file_list *out) {
    for (const char *digit = "0123456789abcdef"; *digit; digit++) {
        int fd = open_shard(c, *digit, false);
        if (fd >= 0 && !list_shard(fd, *digit, out))
            return false;
    }
    return true;
}

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const cache_file *)a)->used, *y = &((const cache_file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/// Removes the least recently used entries until keep_bytes are left, and unfinished files that
/// nobody writes any more. False if the memory is short.
static bool prune(const rt_cache *c, uint64_t keep_bytes, uint64_t *removed) {
    file_list l = {0};
    bool ok = list_all(c, &l);
    if (l.len)
        qsort(l.files, l.len, sizeof *l.files, by_use);
    uint64_t bytes = l.bytes;
    time_t now = time(NULL);
    for (size_t i = 0; ok && i < l.len; i++) {
        const cache_file *f = &l.files[i];
        if (f->is_unfinished ? keep_bytes && now - f->used.tv_sec < ABANDONED_S
                             : bytes <= keep_bytes)
            continue;
        int fd = open_shard(c, f->shard, false);
        if (fd < 0)
            continue;
        bool gone = !unlinkat(fd, f->name, 0) || errno == ENOENT;
        close(fd);
        if (gone && !f->is_unfinished) {
            bytes -= f->bytes;
            ++*removed;
        }
    }
    free(l.files);
    return ok;
}

// --- writing

static bool write_all(int fd, const uint8_t *data, size_t size) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || size > limit.rlim_cur)
        return false; // writing on would end the process
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/// Writes a file under another name, and gives it its own when all of it is there. It need not have
/// reached the disk: a file that the machine's failure has shortened has a wrong checksum.
static bool publish(int folder, const char *name, const uint8_t *data, size_t size) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t unique[] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)&t, (uint64_t)t.tv_sec,
                         (uint64_t)t.tv_nsec};
    char temporary[32];
    snprintf(temporary, sizeof temporary, "new-%016" PRIx64,
             (uint64_t)XXH3_64bits(unique, sizeof unique));
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, data, size);
    ok &= close(fd) == 0;
    ok = ok && !renameat(folder, temporary, folder, name);
    if (!ok)
        unlinkat(folder, temporary, 0);
    return ok;
}

void rt_cache_put(const tile_kernel *k, const rt_bound *bound, const rt_binary *b) {
    const tile_device *d = k->module->device;
    request r;
    if (!d->cache.path || !d->info.is_cuda || b->source.low != k->module->source_hash.low ||
        b->source.high != k->module->source_hash.high || !make_request(k, bound, &r))
        return;
    size_t size;
    uint8_t *data = rt_entry_encode(b, k->num_params, (sv){r.identity, r.identity_len},
                                    (sv){(const char *)bound->key, bound->key_len}, &size);
    if (data && size <= d->cache.max_bytes && size <= MAX_ENTRY_BYTES) {
        int folder = open_shard(&d->cache, r.name[0], true);
        uint64_t removed = 0;
        if (folder >= 0 && publish(folder, r.name, data, size))
            prune(&d->cache, d->cache.max_bytes, &removed);
        if (folder >= 0)
            close(folder);
    }
    free(data);
    free(r.identity);
}

// --- for people

/// Opens the cache and says what is wrong with its folder, if there is one.
static tile_status open_to_manage(const char *directory, rt_cache *c, tile_error *error) {
    tile_status status = rt_cache_open(c, directory, 0, error);
    if (status || !c->path)
        return status;
    int fd = open_private(AT_FDCWD, c->path, false);
    if (fd >= 0) {
        close(fd);
    } else if (errno != ENOENT) {
        status = rt_fail(error, TILE_ERROR_IO, "'%s' is not used as a cache: %s", c->path,
                         errno == EPERM     ? "others may write to it"
                         : errno == ENOTDIR ? "it is no folder"
                         : errno == ELOOP   ? "it is a symbolic link"
                                            : strerror(errno));
        rt_cache_close(c);
    }
    return status;
}

tile_status tile_cache_get_info(const char *directory, tile_cache_info *out_info,
                                tile_error *error) {
    if (!out_info)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_info is NULL");
    memset(out_info, 0, sizeof *out_info);
    rt_cache c;
    tile_status status = open_to_manage(directory, &c, error);
    if (status)
        return status;
    file_list l = {0};
    if (c.path && !list_all(&c, &l))
        status = rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    else
        *out_info =
            (tile_cache_info){.entries = l.entries, .bytes = l.bytes, .max_bytes = c.max_bytes};
    if (!status && c.path)
        snprintf(out_info->path, sizeof out_info->path, "%s", c.path);
    free(l.files);
    rt_cache_close(&c);
    return status;
}

tile_status tile_cache_prune(const char *directory, uint64_t keep_bytes, uint64_t *out_removed,
                             tile_error *error) {
    uint64_t removed = 0;
    rt_cache c;
    tile_status status = open_to_manage(directory, &c, error);
    if (!status && c.path && !prune(&c, keep_bytes, &removed))
        status = rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    if (!status)
        rt_cache_close(&c);
    if (out_removed)
        *out_removed = removed;
    return status;
}
