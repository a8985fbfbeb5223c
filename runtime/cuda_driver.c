// Opens libcuda.so.1 and fills the table of entries. The table is the runtime's only global state.
#include "runtime/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cuda_driver driver;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

typedef CUresult get_proc_address(const char *symbol, void **out, int version, uint64_t flags,
                                  int *symbol_status);

static const struct {
    const char *name;
    int version;
    size_t offset;
} entries[] = {
#define ENTRY(name, version, params) {#name, version, offsetof(cuda_driver, name)},
#include "runtime/cuda_driver.def"
#undef ENTRY
};

static void open_driver(void) {
    const char *path = getenv("TILE_LIBCUDA");
    // Never closed: the driver keeps threads of its own.
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(driver.problem, sizeof driver.problem, "no CUDA driver: %s", dlerror());
        return;
    }
    get_proc_address *get = NULL;
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&get, &symbol, sizeof get);
    if (!get) {
        snprintf(driver.problem, sizeof driver.problem,
                 "the CUDA driver is older than 12.0 (it has no cuGetProcAddress_v2)");
        return;
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = NULL;
        int status = 0;
        CUresult r = get(entries[i].name, &entry, entries[i].version, 0, &status);
        if (r != CUDA_SUCCESS || !entry) {
            snprintf(driver.problem, sizeof driver.problem,
                     "the CUDA driver lacks %s; it must be 12.0 or newer", entries[i].name);
            return;
        }
        memcpy((char *)&driver + entries[i].offset, &entry, sizeof entry);
    }
    CUresult r = driver.cuInit(0);
    if (r != CUDA_SUCCESS) {
        const char *text = NULL;
        driver.cuGetErrorString(r, &text);
        snprintf(driver.problem, sizeof driver.problem, "the CUDA driver does not start: %s",
                 text ? text : "unknown error");
        return;
    }
    driver.cuDriverGetVersion(&driver.version);
    if (driver.version < CUDA_LEAST_DRIVER)
        snprintf(driver.problem, sizeof driver.problem,
                 "the CUDA driver is version %d.%d; 12.0 or newer is needed", driver.version / 1000,
                 driver.version % 1000 / 10);
}

const cuda_driver *cuda_get_driver(void) {
    pthread_once(&driver_once, open_driver);
    return &driver;
}
