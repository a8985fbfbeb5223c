// The main of a fuzz target where there is no libFuzzer: runs it on every file named, or on every
// file of a folder named, so that the corpora are a test on any machine.
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static bool replay_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    enum { MAX_BYTES = 1 << 20 };
    uint8_t *data = malloc(MAX_BYTES);
    size_t size = data ? fread(data, 1, MAX_BYTES, f) : 0;
    bool ok = data && !ferror(f);
    fclose(f);
    if (ok)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return ok;
}

static unsigned replay(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        if (replay_file(path))
            return 1;
        perror(path);
        exit(2);
    }
    unsigned count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char inner[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        count += replay(inner);
    }
    if (dir)
        closedir(dir);
    return count;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%u inputs\n", count);
    return count ? 0 : 2;
}
