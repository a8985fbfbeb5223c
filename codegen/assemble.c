// PTX to cubin through NVIDIA's ptxas, where there is one: finds it, runs it in a private temporary
// directory that is removed again, and reads registers and spills from what it says. This is the
// only place where the code generator touches files or processes.
#include "codegen/codegen.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// ---------------------------------------------------------------------------- processes and files

/// Runs a program to its end with both outputs in `log_path`. Its exit status, -1 if it could not
/// be run. Where the host program has its children reaped for it, 0: the result file tells.
static int run_program(const char *const *argv, const char *log_path) {
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status;
    if (posix_spawn_file_actions_init(&files))
        return -1;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int error = posix_spawn(&pid, argv[0], &files, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error)
        return -1;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return errno == ECHILD ? 0 : -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool write_file(const char *path, sv text) {
    FILE *f = fopen(path, "wbx");
    if (!f)
        return false;
    bool ok = fwrite(text.data, 1, text.len, f) == text.len;
    return fclose(f) == 0 && ok;
}

static bool read_file(arena *a, const char *path, sv *out) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    bool ok = f && fstat(fileno(f), &st) == 0;
    if (ok) {
        char *data = arena_alloc(a, (size_t)st.st_size + 1);
        out->data = data;
        out->len = fread(data, 1, (size_t)st.st_size, f);
        ok = out->len == (size_t)st.st_size;
    }
    if (f)
        fclose(f);
    return ok;
}

/// A new private directory under $TMPDIR; NULL if there can be none.
static const char *make_directory(arena *a) {
    const char *base = getenv("TMPDIR");
    char *path = (char *)sv_format(a, "%s/tile-XXXXXX", base && *base ? base : "/tmp").data;
    return mkdtemp(path);
}

static void remove_directory(arena *a, const char *dir) {
    static const char *const names[] = {"kernel.ptx", "kernel.cubin", "log"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(sv_format(a, "%s/%s", dir, names[i]).data);
    rmdir(dir);
}

// ---------------------------------------------------------------------------- finding ptxas

static const char *if_runnable(arena *a, const char *dir, size_t len) {
    const char *path = sv_format(a, "%.*s/ptxas", (int)len, dir).data;
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? path : NULL;
}

static const char *search_path(arena *a) {
    const char *dir = getenv("PATH"), *found = NULL;
    while (dir && *dir && !found) {
        size_t len = strcspn(dir, ":");
        if (len)
            found = if_runnable(a, dir, len);
        dir += len + (dir[len] == ':');
    }
    return found;
}

/// "Cuda compilation tools, release 13.0, V13.0.88": 130; 0 if it says no such thing.
static unsigned ask_version(arena *a, const char *ptxas) {
    const char *dir = make_directory(a);
    unsigned major = 0, minor = 0;
    if (!dir)
        return 0;
    const char *log = sv_format(a, "%s/log", dir).data;
    const char *argv[] = {ptxas, "--version", NULL};
    sv text;
    if (run_program(argv, log) == 0 && read_file(a, log, &text)) {
        const char *release = strstr(text.data, "release ");
        if (!release || sscanf(release, "release %u.%u", &major, &minor) != 2)
            major = minor = 0;
    }
    remove_directory(a, dir);
    return major * 10 + minor;
}

const char *cg_find_ptxas(arena *a, unsigned *version) {
    const char *path = getenv("TILE_PTXAS"), *home = getenv("CUDA_HOME");
    if (path && *path)
        path = access(path, X_OK) == 0 ? path : NULL; // asked for by name: no other will do
    else if (!(home && *home &&
               (path = if_runnable(a, sv_format(a, "%s/bin", home).data, strlen(home) + 4))) &&
             !(path = search_path(a)))
        path = if_runnable(a, "/usr/local/cuda/bin", strlen("/usr/local/cuda/bin"));
    if (path && version) {
        *version = ask_version(a, path);
        if (!*version)
            path = NULL;
    }
    return path;
}

// ---------------------------------------------------------------------------- what ptxas says

/// Reads the lines of `ptxas -v` about each entry.
static void read_usage(arena *a, const char *log, cg_resource_usage **out, uint32_t *out_num) {
    VEC(cg_resource_usage) all = {0};
    cg_resource_usage *u = NULL;
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char text[512];
        size_t len = strcspn(line, "\n");
        snprintf(text, sizeof(text), "%.*s", (int)(len < 511 ? len : 511), line);
        char *entry = strstr(text, "Compiling entry function '"), *at;
        if (entry) {
            VEC_PUSH(a, all, (cg_resource_usage){0});
            u = &all.data[all.len - 1];
            sscanf(entry, "Compiling entry function '%127[^']", u->kernel);
        }
        if (!u)
            continue;
        if (strstr(text, "bytes stack frame"))
            sscanf(text, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads",
                   &u->stack_bytes, &u->spill_stores_bytes, &u->spill_loads_bytes);
        if ((at = strstr(text, "Used ")))
            sscanf(at, "Used %u registers", &u->registers);
        if ((at = strstr(text, " bytes smem"))) {
            while (at > text && at[-1] >= '0' && at[-1] <= '9')
                at--;
            sscanf(at, "%u", &u->static_shared_bytes);
        }
    }
    *out = all.data;
    *out_num = all.len;
}

static bool fail(sv *message, sv text) {
    *message = text;
    return false;
}

static bool assemble_in(arena *a, const char *dir, const char *ptxas, sv ptx, const char *arch,
                        bool line_info, sv *cubin, sv *log, sv *message) {
    const char *in = sv_format(a, "%s/kernel.ptx", dir).data;
    const char *out = sv_format(a, "%s/kernel.cubin", dir).data;
    const char *log_path = sv_format(a, "%s/log", dir).data;
    const char *argv[] = {ptxas, "-v", sv_format(a, "-arch=%s", arch).data,       in,
                          "-o",  out,  line_info ? "--generate-line-info" : NULL, NULL};
    if (!write_file(in, ptx))
        return fail(message, sv_format(a, "cannot write %s", in));
    int status = run_program(argv, log_path);
    if (!read_file(a, log_path, log))
        *log = SV("");
    if (status < 0)
        return fail(message, sv_format(a, "cannot run %s", ptxas));
    if (status || !read_file(a, out, cubin) || !cubin->len)
        return fail(message, sv_format(a, "ptxas failed: %" SV_FMT, SV_ARG(*log)));
    return true;
}

bool cg_assemble(arena *a, sv ptx, const char *arch, bool line_info, sv *out_cubin,
                 cg_resource_usage **out_usage, uint32_t *out_num_usage, sv *message) {
    *out_cubin = *message = (sv){0};
    *out_usage = NULL;
    *out_num_usage = 0;
    const char *ptxas = cg_find_ptxas(a, NULL);
    if (!ptxas)
        return fail(message, SV("no ptxas was found (TILE_PTXAS, CUDA_HOME, PATH)"));
    const char *dir = make_directory(a);
    if (!dir)
        return fail(message, SV("no temporary directory can be made (TMPDIR)"));
    sv log;
    bool ok = assemble_in(a, dir, ptxas, ptx, arch, line_info, out_cubin, &log, message);
    remove_directory(a, dir);
    if (ok)
        read_usage(a, log.data, out_usage, out_num_usage);
    return ok;
}
