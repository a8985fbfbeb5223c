// The on-disk cache of compiled kernels on a fake driver: what an entry depends on, and that nothing
// that can befall its files or folders (bits flipped, cut short, killed writers, full disks, other
// users, many processes at once) fails a launch or gives a wrong kernel.
#include "tests/fake/fake_test.h"

#include <tile.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// --- what the library calls, seen and spoiled on its way: file calls are counted while `counting`,
// the process is killed in one of them, and the disk is full after some bytes

// Seen by the library as well, instead of libc's own.
#pragma GCC visibility push(default)

static bool counting;
static long calls, kill_at;
static long disk_bytes = -1; ///< what may yet be written; -1: no limit
static long llvm_contexts;

static void on_call(void) {
    if (counting && ++calls == kill_at)
        kill(getpid(), SIGKILL);
}

int openat(int at, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    on_call();
    return (int)syscall(SYS_openat, at, path, flags, mode);
}
int mkdirat(int at, const char *path, mode_t mode) {
    on_call();
    return (int)syscall(SYS_mkdirat, at, path, mode);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    on_call();
    return (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}
int unlinkat(int at, const char *path, int flags) {
    on_call();
    return (int)syscall(SYS_unlinkat, at, path, flags);
}
ssize_t write(int fd, const void *data, size_t size) {
    on_call();
    if (counting && size > 1000) // in two parts, so that one can be killed between them
        size /= 2;
    if (counting && disk_bytes >= 0) {
        if (!disk_bytes) {
            errno = ENOSPC;
            return -1;
        }
        size = size < (size_t)disk_bytes ? size : (size_t)disk_bytes;
        disk_bytes -= (long)size;
    }
    return syscall(SYS_write, fd, data, size);
}

/// Where LLVM is a library of its own, this sees every compilation.
struct LLVMOpaqueContext *LLVMContextCreate(void);
struct LLVMOpaqueContext *LLVMContextCreate(void) {
    static struct LLVMOpaqueContext *(*real)(void);
    void *symbol = dlsym(RTLD_NEXT, "LLVMContextCreate");
    memcpy(&real, &symbol, sizeof real);
    llvm_contexts++;
    return real();
}

#pragma GCC visibility pop

// --- compiling

static fake_state *fake;
static char root[256]; ///< of all files of this test
static char dir[300];  ///< the cache of the test that runs

#define KERNEL(value)                                                                              \
    "def k(x: *fp32, n: i32, B: constexpr = 128):\n"                                               \
    "    o = program_id(0) * B + arange(0, B)\n"                                                   \
    "    store(x + o, load(x + o, mask=o < n) + " #value ", mask=o < n)\n"
static const char source[] = KERNEL(1.0);

typedef struct shot {
    const char *text, *name; ///< the source
    int n, block, warps;
    const char *type;
} shot;
static const shot usual = {source, "k.tile", 1000, 128, 1, "fp32"};

typedef enum outcome { FAILED, COMPILED, CACHED } outcome;

/// One life: opens all, compiles or reads one kernel, launches it, closes.
static outcome take(const shot *s) {
    tile_error err = {0};
    tile_device *d = NULL;
    tile_module *m = NULL;
    tile_kernel *k;
    tile_kernel_info info;
    long contexts = llvm_contexts;
    outcome result = FAILED;
    tile_arg args[] = {TILE_POINTER(NULL, s->type), TILE_I32(s->n),
                       TILE_CONSTEXPR_INT("B", s->block)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = (uint32_t)s->warps};
    if (!tile_device_open("cuda:0", &d, &err) &&
        !tile_module_load_string(d, s->name, s->text, strlen(s->text), &m, &err) &&
        !tile_module_get_kernel(m, "k", &k, &err) && !tile_warmup(k, args, 3, &o, &info, &err) &&
        !tile_launch(k, args, 3, &o, &err)) {
        result = info.from_cache ? CACHED : COMPILED;
        char *ptx = NULL;
        EXPECT(!tile_kernel_ptx(k, args, 3, &o, &ptx, &err) && strstr(ptx, ".entry k("));
        tile_free(ptx);
        EXPECT(result == COMPILED || llvm_contexts == contexts);
    } else {
        printf("%s\n", err.message);
    }
    tile_module_destroy(m);
    tile_device_close(d);
    tile_error_clear(&err);
    return result;
}

static outcome again(void) { return take(&usual); }

/// Runs fn in a process of its own. True if it returns and had no failures.
static bool in_child(void (*fn)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        failures = 0;
        fn();
        fflush(stdout);
        _exit(failures != 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return !status;
}

// --- files

typedef struct contents {
    int entries, unfinished;
    char path[700];  ///< of the last entry
    char shard[600]; ///< its folder
    long bytes;      ///< its size
} contents;

static contents look(void) {
    contents c = {0};
    for (const char *digit = "0123456789abcdef"; *digit; digit++) {
        char shard[600];
        snprintf(shard, sizeof shard, "%s/v1/%c", dir, *digit);
        DIR *folder = opendir(shard);
        for (struct dirent *e; folder && (e = readdir(folder));) {
            struct stat st;
            if (!strncmp(e->d_name, "new-", 4))
                c.unfinished++;
            if (strlen(e->d_name) != 49)
                continue;
            c.entries++;
            snprintf(c.shard, sizeof c.shard, "%s", shard);
            snprintf(c.path, sizeof c.path, "%s/%.49s", shard, e->d_name);
            c.bytes = lstat(c.path, &st) ? 0 : (long)st.st_size;
        }
        if (folder)
            closedir(folder);
    }
    return c;
}

/// A cache of its own, empty, for the test that begins.
static void start(const char *name) {
    snprintf(dir, sizeof dir, "%s/%s/deep/er", root, name);
    setenv("TILE_CACHE_DIR", dir, 1);
    unsetenv("TILE_CACHE_SIZE");
}

/// The same, with one entry in it.
static contents start_with_entry(const char *name) {
    start(name);
    EXPECT(again() == COMPILED);
    contents c = look();
    EXPECT(c.entries == 1 && c.unfinished == 0);
    return c;
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    EXPECT(f && fputs(text, f) >= 0 && !fclose(f));
}

static void set_age(const char *path, long seconds) {
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    EXPECT(!utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW));
}

// --- tests

static void test_warm_start(void) {
    start("warm");
    umask(0);
    EXPECT(again() == COMPILED);
    umask(022);
    long contexts = llvm_contexts;
    EXPECT(again() == CACHED && again() == CACHED);
    EXPECT(llvm_contexts == contexts);
    struct stat st;
    contents c = look();
    EXPECT(!lstat(c.path, &st) && (st.st_mode & 0777) == 0600);
    EXPECT(!lstat(c.shard, &st) && (st.st_mode & 0777) == 0700);
    EXPECT(!lstat(dir, &st) && (st.st_mode & 0777) == 0700);
    tile_cache_info info;
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && info.entries == 1);
    EXPECT((long)info.bytes == c.bytes && info.max_bytes == 256 << 20);
    EXPECT(!strncmp(info.path, dir, strlen(dir)));
}

/// Everything that the code depends on leads to another entry; what it does not, to the same.
static void test_keys(void) {
    start_with_entry("keys");
    const shot others[] = {
        {KERNEL(2.0), "k.tile", 1000, 128, 1, "fp32"}, {source, "l.tile", 1000, 128, 1, "fp32"},
        {source, "k.tile", 1001, 128, 1, "fp32"},      {source, "k.tile", 1, 128, 1, "fp32"},
        {source, "k.tile", 1000, 256, 1, "fp32"},      {source, "k.tile", 1000, 128, 2, "fp32"},
    };
    enum { OTHERS = sizeof others / sizeof *others };
    for (int i = 0; i < OTHERS; i++)
        EXPECT(take(&others[i]) == COMPILED);
    for (int i = 0; i < OTHERS; i++)
        EXPECT(take(&others[i]) == CACHED);
    EXPECT(again() == CACHED && look().entries == OTHERS + 1);
    // A length of another class that this code serves as well.
    EXPECT(take(&(shot){source, "k.tile", 1008, 128, 1, "fp32"}) == CACHED);
    setenv("TILE_SKIP_PASSES", "cleanup", 1);
    EXPECT(again() == COMPILED);
    unsetenv("TILE_SKIP_PASSES");
    EXPECT(again() == CACHED);
}

/// In a process of its own, before any other has the driver.
static void with_other_driver(void) {
    setenv("FAKE_CUDA_VERSION", "12040", 1);
    EXPECT(again() == COMPILED && again() == CACHED);
}
static void with_this_driver(void) { EXPECT(again() == COMPILED && again() == CACHED); }

static void test_drivers(void) {
    start("drivers");
    EXPECT(in_child(with_this_driver) && in_child(with_other_driver));
    EXPECT(look().entries == 2);
}

/// The imported files count, as they are read when the kernel is compiled.
static void test_imports(void) {
    start("imports");
    char path[600], name[600];
    snprintf(path, sizeof path, "%s/helper.tile", root);
    snprintf(name, sizeof name, "%s/main.tile", root);
    const shot s = {"from .helper import f\n\n"
                    "def k(x: *fp32, n: i32, B: constexpr = 128):\n"
                    "    store(x, f(load(x)))\n",
                    name,
                    1000,
                    32,
                    1,
                    "fp32"};
    static const char one[] = "def f(x):\n    return x + 1.0\n",
                      two[] = "def f(x):\n    return x + 2.0\n";
    write_text(path, one);
    EXPECT(take(&s) == COMPILED && take(&s) == CACHED);
    write_text(path, two);
    EXPECT(take(&s) == COMPILED && take(&s) == CACHED);
    write_text(path, one);
    EXPECT(take(&s) == CACHED);
    // Changed between reading the module and compiling: what is compiled goes under no wrong name.
    tile_device *d;
    tile_module *m;
    tile_kernel *k;
    tile_arg args[] = {TILE_POINTER(NULL, "fp32"), TILE_I32(1), TILE_CONSTEXPR_INT("B", 64)};
    EXPECT(!tile_device_open("cuda:0", &d, NULL));
    EXPECT(!tile_module_load_string(d, name, s.text, strlen(s.text), &m, NULL));
    EXPECT(!tile_module_get_kernel(m, NULL, &k, NULL));
    write_text(path, two);
    int entries = look().entries;
    EXPECT(!tile_warmup(k, args, 3, NULL, NULL, NULL) && look().entries == entries);
    tile_module_destroy(m);
    tile_device_close(d);
}

/// Bits that flip and files cut short are seen, and the entry is written anew.
static void test_broken(void) {
    contents c = start_with_entry("broken");
    static char good[1 << 20], bad[1 << 20];
    FILE *f = fopen(c.path, "r");
    EXPECT(f && fread(good, 1, sizeof good, f) == (size_t)c.bytes && !fclose(f));
    for (int i = 0; i < 24; i++) {
        long size = c.bytes, at = i < 12 ? i * 8 : (i - 11) * (c.bytes - 1) / 12;
        memcpy(bad, good, (size_t)size);
        bad[at] ^= (char)(1 << (i & 7));
        if (i & 1) {
            size = at; // cut short instead
            bad[at] = good[at];
        }
        f = fopen(c.path, "w");
        EXPECT(f && fwrite(bad, 1, (size_t)size, f) == (size_t)size && !fclose(f));
        chmod(c.path, 0600);
        EXPECT(again() == COMPILED);
        EXPECT(again() == CACHED);
    }
    EXPECT(look().entries == 1);
    // Zeros at the end, as after a machine's failure.
    EXPECT(!truncate(c.path, c.bytes / 2) && !truncate(c.path, c.bytes));
    EXPECT(again() == COMPILED && again() == CACHED);
}

/// What lies under an entry's name but is none, or could be another user's, is let alone.
static void test_strange_files(void) {
    contents c = start_with_entry("strange");
    char other[600];
    snprintf(other, sizeof other, "%s/elsewhere", root);
    EXPECT(!rename(c.path, other) && !symlink(other, c.path));
    EXPECT(again() == COMPILED); // the link is not followed; the new file takes its place
    struct stat st;
    EXPECT(!lstat(c.path, &st) && S_ISREG(st.st_mode) && again() == CACHED);
    EXPECT(!unlink(c.path) && !mkfifo(c.path, 0600));
    EXPECT(again() == COMPILED && again() == CACHED);
    EXPECT(!chmod(c.path, 0666) && again() == COMPILED && again() == CACHED);
    EXPECT(!unlink(c.path) && !mkdir(c.path, 0700));
    EXPECT(again() == COMPILED && again() == COMPILED); // no file can take a folder's place
    EXPECT(look().unfinished == 0 && !rmdir(c.path));
    write_text(c.path, "an entry of another version");
    EXPECT(again() == COMPILED && again() == CACHED);
}

/// Folders that others own or may write to are not used, nor is a link.
static void test_strange_folders(void) {
    contents c = start_with_entry("folders");
    char format[400], other[600];
    snprintf(format, sizeof format, "%s/v1", dir);
    snprintf(other, sizeof other, "%s/moved", root);
    tile_error err = {0};
    tile_cache_info info;
    for (int i = 0; i < 2; i++) {
        const char *folder = i ? c.shard : format;
        EXPECT(!chmod(folder, 0777) && again() == COMPILED && again() == COMPILED);
        EXPECT(tile_cache_get_info(NULL, &info, &err) == (i ? TILE_OK : TILE_ERROR_IO));
        EXPECT(i || strstr(err.message, "others may write"));
        EXPECT(!chmod(folder, 0700) && again() == CACHED);
        if (!geteuid()) {
            EXPECT(!chown(folder, 65534, 65534) && again() == COMPILED && again() == COMPILED);
            EXPECT(!chown(folder, 0, 0) && again() == CACHED);
        }
        EXPECT(!rename(folder, other) && !symlink(other, folder));
        EXPECT(again() == COMPILED && again() == COMPILED);
        EXPECT(!unlink(folder) && !rename(other, folder) && again() == CACHED);
    }
    EXPECT(!rename(format, other));
    write_text(format, "");
    EXPECT(again() == COMPILED && again() == COMPILED);
    EXPECT(tile_cache_get_info(NULL, &info, &err) == TILE_ERROR_IO);
    tile_error_clear(&err);
}

static void read_only(void) {
    if (!geteuid()) // whom permissions do not stop
        EXPECT(!chown(dir, 65534, 65534) && !setresuid(65534, 65534, 65534));
    EXPECT(again() == COMPILED && !chmod(look().shard, 0500) && again() == CACHED);
    EXPECT(take(&(shot){source, "k.tile", 3, 128, 1, "fp32"}) == COMPILED);
    char format[400];
    snprintf(format, sizeof format, "%s/v1", dir);
    EXPECT(!chmod(format, 0500));
    for (int block = 256; block <= 2048; block *= 2) { // shards that are not there yet
        const shot s = {source, "k.tile", 3, block, 1, "fp32"};
        EXPECT(take(&s) == COMPILED);
    }
    EXPECT(again() == CACHED);
    chmod(look().shard, 0700);
    chmod(format, 0700);
}

static void test_no_folder(void) {
    static const char *const none[] = {"/dev/null", "/proc/none", "", "off"};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        setenv("TILE_CACHE_DIR", none[i], 1);
        EXPECT(again() == COMPILED && again() == COMPILED);
    }
    tile_cache_info info;
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && !info.path[0] && !info.entries);
    EXPECT(access("off", F_OK));
    // The variables that come next.
    unsetenv("TILE_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", root, 1);
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && strstr(info.path, "/.cache/tile/v1"));
    setenv("XDG_CACHE_HOME", root, 1);
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && strstr(info.path, "/tile/v1"));
    EXPECT(again() == COMPILED && again() == CACHED);
    unsetenv("XDG_CACHE_HOME");
    start("readonly");
    char command[700];
    snprintf(command, sizeof command, "mkdir -p '%s' && chmod 755 '%s'", dir, root);
    EXPECT(!system(command) && in_child(read_only));
}

static void small_files_only(void) {
    EXPECT(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000}));
    EXPECT(again() == COMPILED);
}

/// A file system with room for less than one entry, where one may be mounted.
static void small_disk(void) {
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", root, "tmpfs", 0, "size=4k"))
        return;
    const shot large = {source, "k.tile", 1000, 4096, 1, "fp32"};
    EXPECT(take(&large) == COMPILED && take(&large) == COMPILED);
    EXPECT(look().entries == 0 && look().unfinished == 0);
}

static void test_full_disk(void) {
    start("full");
    counting = true;
    for (long bytes = 0; bytes <= 2000; bytes += 500) {
        disk_bytes = bytes;
        EXPECT(again() == COMPILED);
        EXPECT(look().entries == 0 && look().unfinished == 0);
    }
    disk_bytes = -1;
    counting = false;
    EXPECT(in_child(small_files_only) && in_child(small_disk));
    EXPECT(look().entries == 0 && look().unfinished == 0);
    EXPECT(again() == COMPILED && again() == CACHED);
}

static void work_until_killed(void) {
    counting = true;
    calls = 0;
    again();
}

/// A writer is killed in each of its file calls: the next process finds a good entry or none.
static void test_killed(void) {
    long n = 1;
    for (bool ended = false; !ended && n < 100; n++) {
        char name[32];
        snprintf(name, sizeof name, "killed%ld", n);
        start(name);
        kill_at = n;
        ended = in_child(work_until_killed);
        kill_at = 0;
        EXPECT(again() != FAILED && again() == CACHED);
        contents c = look();
        EXPECT(c.entries == 1 && c.unfinished <= 1);
        if (!c.unfinished)
            continue;
        // What it has left goes when it is old.
        char command[700];
        uint64_t removed;
        EXPECT(!tile_cache_prune(NULL, 1 << 30, &removed, NULL) && !removed && look().unfinished);
        snprintf(command, sizeof command, "touch -d '2 hours ago' '%s'/new-*", c.shard);
        EXPECT(!system(command));
        EXPECT(!tile_cache_prune(NULL, 1 << 30, &removed, NULL) && !removed);
        EXPECT(look().unfinished == 0 && again() == CACHED);
    }
    EXPECT(n > 8 && n < 100); // and one that ended
}

/// Two hundred processes at once, with room for a part of what they make.
static void test_processes(void) {
    enum { PROCESSES = 200 };
    long bytes = start_with_entry("processes").bytes;
    char size[32], byte;
    snprintf(size, sizeof size, "%ld", bytes * 3);
    setenv("TILE_CACHE_SIZE", size, 1);
    int gate[2], failed = 0;
    EXPECT(!pipe(gate));
    for (int i = 0; i < PROCESSES; i++) {
        if (fork())
            continue;
        close(gate[1]);
        if (read(gate[0], &byte, 1)) // nothing comes: it opens when the parent closes its end
            _exit(2);
        const shot s = {source, "k.tile", 1000, 128 << (i & 3), 1, "fp32"};
        failures = 0;
        _exit(take(&s) == FAILED || failures);
    }
    close(gate[0]);
    close(gate[1]);
    for (int status; wait(&status) > 0;)
        failed += status != 0;
    EXPECT(failed == 0);
    EXPECT(look().unfinished == 0 && look().entries <= 4);
    EXPECT(again() != FAILED && again() == CACHED);
}

/// The least recently used go first, and never more is kept than allowed.
static void test_bound(void) {
    contents first = start_with_entry("bound");
    const shot others[] = {{KERNEL(3.0), "k.tile", 1000, 128, 1, "fp32"},
                           {KERNEL(4.0), "k.tile", 1000, 128, 1, "fp32"},
                           {KERNEL(5.0), "k.tile", 1000, 128, 1, "fp32"}};
    set_age(first.path, 7200);
    EXPECT(take(&others[0]) == COMPILED && take(&others[1]) == COMPILED);
    EXPECT(again() == CACHED); // which makes it the newest
    tile_cache_info info;
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && info.entries == 3);
    char size[32];
    snprintf(size, sizeof size, "%llu", (unsigned long long)info.bytes + 100);
    setenv("TILE_CACHE_SIZE", size, 1);
    EXPECT(take(&others[2]) == COMPILED);
    EXPECT(!tile_cache_get_info(NULL, &info, NULL) && info.entries == 3);
    EXPECT(info.bytes <= info.max_bytes);
    EXPECT(again() == CACHED && take(&others[1]) == CACHED && take(&others[2]) == CACHED);
    EXPECT(take(&others[0]) == COMPILED);
    setenv("TILE_CACHE_SIZE", "1K", 1); // less than an entry: nothing more is kept
    EXPECT(take(&usual) != FAILED &&
           take(&(shot){source, "k.tile", 9, 1024, 1, "fp32"}) == COMPILED);
    uint64_t removed;
    EXPECT(!tile_cache_prune(NULL, 0, &removed, NULL) && removed == 3 && look().entries == 0);
    static const char *const wrong[] = {"", "many", "-1", "1.5G", "12Q", "1KB", "99999999999G"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tile_device *d;
        tile_error err = {0};
        setenv("TILE_CACHE_SIZE", wrong[i], 1);
        EXPECT(tile_device_open("cuda:0", &d, &err) == TILE_ERROR_INVALID_ARGUMENT && !d);
        EXPECT(strstr(err.message, "TILE_CACHE_SIZE"));
        tile_error_clear(&err);
    }
    unsetenv("TILE_CACHE_SIZE");
}

/// A program chooses for itself.
static void test_set_cache(void) {
    start("chosen");
    tile_device *d;
    EXPECT(!tile_device_open("cuda:0", &d, NULL));
    for (int i = 0; i < 3; i++) {
        tile_module *m;
        tile_kernel *k;
        tile_kernel_info info;
        tile_arg args[] = {TILE_POINTER(NULL, "fp32"), TILE_I32(3)};
        EXPECT(!tile_device_set_cache(d, i == 1 ? "off" : dir, 1 << 20, NULL));
        EXPECT(!tile_module_load_string(d, "k.tile", source, strlen(source), &m, NULL));
        EXPECT(!tile_module_get_kernel(m, NULL, &k, NULL));
        EXPECT(!tile_warmup(k, args, 2, NULL, &info, NULL) && info.from_cache == (i == 2));
        tile_module_destroy(m);
    }
    EXPECT(tile_device_set_cache(NULL, dir, 0, NULL) == TILE_ERROR_INVALID_ARGUMENT);
    tile_device_close(d);
}

/// What the driver does not take is compiled anew, and the driver asked once more.
static void test_driver_refuses(void) {
    start_with_entry("refused");
    fake->refuse_loads = 1;
    EXPECT(again() == COMPILED && again() == CACHED && !fake->refuse_loads);
    fake->refuse_loads = 2;
    EXPECT(again() == FAILED && again() == CACHED && !fake->refuse_loads);
    EXPECT(fake->libraries == 0);
}

/// The image that ptxas makes is kept beside the PTX, for that very ptxas.
static void test_ptxas(void) {
    static const char script[] =
        "#!/bin/sh\n"
        "[ $1 != --version ] || exec echo 'Cuda compilation tools, release 12.0, V12.0.1'\n"
        "while [ $1 != -o ]; do shift; done\n"
        "printf '\\177ELF image' >$2\n";
    start_with_entry("ptxas");
    char path[300];
    snprintf(path, sizeof path, "%s/assembler", root);
    write_text(path, script);
    EXPECT(!chmod(path, 0755) && fake->loaded_ptx);
    setenv("TILE_ASSEMBLER", "ptxas", 1);
    setenv("TILE_PTXAS", path, 1);
    EXPECT(again() == COMPILED && !fake->loaded_ptx);
    EXPECT(again() == CACHED && !fake->loaded_ptx && look().entries == 2);
    set_age(path, 100); // another ptxas
    EXPECT(again() == COMPILED && again() == CACHED && !fake->loaded_ptx);
    setenv("TILE_PTXAS", "/bin/false", 1); // no ptxas: the driver steps in
    EXPECT(again() == COMPILED && again() == CACHED && fake->loaded_ptx);
    unsetenv("TILE_ASSEMBLER");
    unsetenv("TILE_PTXAS");
    EXPECT(again() == CACHED && fake->loaded_ptx);
}

/// Another stream's capture bears it that a kernel is compiled, or read, meanwhile.
static void test_capture(void) {
    start("capture");
    tile_device *d;
    tile_stream *stream;
    EXPECT(!tile_device_open("cuda:0", &d, NULL) && !tile_stream_wrap(d, &d, &stream, NULL));
    fake->capturing = &checks;
    for (int i = 0; i < 2; i++) {
        tile_module *m;
        tile_kernel *k;
        tile_kernel_info info;
        tile_arg args[] = {TILE_POINTER(NULL, "fp32"), TILE_I32(3)};
        tile_launch_options o = {.size = sizeof o, .stream = stream};
        EXPECT(!tile_module_load_string(d, "k.tile", source, strlen(source), &m, NULL));
        EXPECT(!tile_module_get_kernel(m, NULL, &k, NULL));
        EXPECT(!tile_warmup(k, args, 2, &o, &info, NULL) && info.from_cache == (i == 1));
        tile_module_destroy(m);
    }
    EXPECT(!fake->invalidated);
    fake->capturing = NULL;
    tile_stream_destroy(stream);
    tile_device_close(d);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: test_cache LIBFAKECUDA\n");
        return 2;
    }
    setenv("TILE_LIBCUDA", argv[1], 1);
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%.200s/tile-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    EXPECT(mkdtemp(root));
    test_drivers(); // first: they are in processes that have no driver yet
    fake = open_fake(argv[1]);
    if (!fake) {
        printf("%s\n", dlerror());
        return 2;
    }
    test_warm_start();
    test_keys();
    test_imports();
    test_broken();
    test_strange_files();
    test_strange_folders();
    test_no_folder();
    test_full_disk();
    test_killed();
    test_processes();
    test_bound();
    test_set_cache();
    test_driver_refuses();
    test_ptxas();
    test_capture();
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    EXPECT(!system(command));
    return finish();
}
