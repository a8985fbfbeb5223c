// `tilec cache`: what is in the on-disk cache of compiled kernels, and what shall go.
#include "tilec/cache.h"

#include "runtime/tile.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: tilec cache [--stat | --prune | --clear]\n"
    "Looks after the compiled kernels that programs have left on disk for the next ones.\n"
    "  --stat    where they are, how many, and how large (what happens without an option)\n"
    "  --prune   remove the least recently used, down to the bound on their size\n"
    "  --clear   remove all\n"
    "$TILE_CACHE_DIR is the folder (off: there is none), else $XDG_CACHE_HOME/tile, else\n"
    "~/.cache/tile. $TILE_CACHE_SIZE is the bound (256M).\n";

static int complain(tile_error *error) {
    fprintf(stderr, "tilec: cache: %s\n", error->message);
    tile_error_clear(error);
    return 1;
}

static int finish(void) { return fflush(stdout) ? 1 : 0; }

static int show(const tile_cache_info *info) {
    if (!info->path[0]) {
        printf("there is no cache\n");
        return finish();
    }
    printf("folder:  %s\nkernels: %llu\nbytes:   %llu of %llu\n", info->path,
           (unsigned long long)info->entries, (unsigned long long)info->bytes,
           (unsigned long long)info->max_bytes);
    return finish();
}

int cache_command(int argc, char **argv) {
    const char *what = argc ? argv[0] : "--stat";
    bool is_prune = !strcmp(what, "--prune"), is_clear = !strcmp(what, "--clear");
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        fputs(help, stdout);
        return finish();
    }
    if (argc > 1 || (!is_prune && !is_clear && strcmp(what, "--stat") != 0)) {
        fprintf(stderr, "tilec: cache: expected --stat, --prune or --clear, got '%s'\n",
                argv[argc - 1]);
        return 2;
    }
    tile_error error = {0};
    tile_cache_info info;
    uint64_t removed;
    if (tile_cache_get_info(NULL, &info, &error))
        return complain(&error);
    if (!is_prune && !is_clear)
        return show(&info);
    if (tile_cache_prune(NULL, is_clear ? 0 : info.max_bytes, &removed, &error))
        return complain(&error);
    printf("removed %llu of %llu kernels\n", (unsigned long long)removed,
           (unsigned long long)info.entries);
    return finish();
}
