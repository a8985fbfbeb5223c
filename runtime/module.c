// Modules: a source text and its kernels. Loading reads and checks the source; nothing is compiled
// before a launch or a warmup asks for a specialization. (aot.c makes modules without a source.)
#include "runtime/rt.h"
#include "support/diag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tile_kernel *rt_add_kernel(tile_module *m, const char *name, size_t name_len, uint32_t num_params) {
    tile_kernel **grown = realloc(m->kernels, (m->num_kernels + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    m->kernels = grown;
    tile_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->module = m;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->compiled, NULL);
    m->kernels[m->num_kernels++] = k;
    k->name = strndup(name, name_len);
    k->params = calloc(num_params ? num_params : 1, sizeof *k->params);
    if (!k->name || !k->params)
        return NULL;
    k->num_params = num_params;
    return k;
}

static void free_configs(tile_kernel *k) {
    for (uint32_t i = 0; i < k->num_configs; i++) {
        const tile_arg *args = k->configs[i].constexprs;
        for (uint32_t j = 0; j < k->configs[i].num_constexprs; j++) {
            free((char *)args[j].name);
            if (args[j].constexpr_kind == TILE_CONSTEXPR_KIND_STRING)
                free((char *)args[j].value.string);
        }
        free((tile_arg *)args);
    }
    free(k->configs);
}

static void free_kernel(tile_kernel *k) {
    if (!k)
        return;
    tile_device *d = k->module->device;
    rt_table *t = atomic_load(&k->table);
    for (uint32_t i = 0; t && i < t->capacity; i++)
        free(atomic_load(&t->slots[i])); // the newest table has every slot
    while (t) {
        rt_table *older = t->older;
        free(t);
        t = older;
    }
    while (k->specs) {
        rt_spec *s = k->specs;
        k->specs = s->next;
        if (s->state == RT_SPEC_READY) {
            d->ops->unload(d, &s->loaded);
            rt_binary_free(&s->binary);
        }
        tile_error_clear(&s->error);
        free(s->key);
        free(s);
    }
    for (uint32_t i = 0; i < k->num_params; i++)
        free(k->params[i].name);
    free(k->params);
    free_configs(k);
    free(k->name);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->compiled);
    free(k);
}

void tile_module_destroy(tile_module *module) {
    if (!module)
        return;
    for (uint32_t i = 0; i < module->num_kernels; i++)
        free_kernel(module->kernels[i]);
    free(module->kernels);
    free(module->name);
    free(module->source);
    free(module);
}

tile_status tile_module_load_string(tile_device *device, const char *name, const char *source,
                                    size_t length, tile_module **out_module, tile_error *error) {
    if (!out_module)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_module is NULL");
    *out_module = NULL;
    if (!device || (!source && length))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                       device ? "source" : "device");
    if (length > SOURCE_MAX_BYTES)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the source is over 16 MiB");
    tile_module *m = calloc(1, sizeof *m);
    if (!m)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    m->device = device;
    m->name = strdup(name ? name : "<string>");
    m->source = malloc(length + 1);
    tile_status status = TILE_OK;
    if (!m->name || !m->source) {
        status = rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    } else {
        if (length)
            memcpy(m->source, source, length);
        m->source[length] = 0;
        m->source_len = length;
        status = rt_module_scan(m, error);
    }
    if (status) {
        tile_module_destroy(m);
        return status;
    }
    *out_module = m;
    return TILE_OK;
}

/// Reads a whole file. *out is malloc'ed.
static tile_status read_file(const char *path, char **out, size_t *out_len, tile_error *error) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return rt_fail(error, TILE_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    char *data = NULL;
    size_t len = 0, cap = 0;
    for (;;) {
        if (len == cap) {
            cap = cap ? cap * 2 : 16 << 10;
            char *grown = cap > 2u * SOURCE_MAX_BYTES ? NULL : realloc(data, cap);
            if (!grown)
                break;
            data = grown;
        }
        size_t n = fread(data + len, 1, cap - len, f);
        len += n;
        if (!n)
            break;
    }
    bool ok = feof(f) && !ferror(f);
    int code = errno;
    fclose(f);
    if (!ok) {
        free(data);
        return rt_fail(error, TILE_ERROR_IO, "cannot read '%s': %s", path,
                       code ? strerror(code) : "it is too large");
    }
    *out = data;
    *out_len = len;
    return TILE_OK;
}

tile_status tile_module_load_file(tile_device *device, const char *path, tile_module **out_module,
                                  tile_error *error) {
    if (!out_module)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_module is NULL");
    *out_module = NULL;
    if (!path)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "path is NULL");
    char *text = NULL;
    size_t len = 0;
    tile_status status = read_file(path, &text, &len, error);
    if (status)
        return status;
    status = tile_module_load_string(device, path, text, len, out_module, error);
    free(text);
    return status;
}

uint32_t tile_module_kernel_count(const tile_module *module) {
    return module ? module->num_kernels : 0;
}

const char *tile_module_kernel_name(const tile_module *module, uint32_t index) {
    return module && index < module->num_kernels ? module->kernels[index]->name : NULL;
}

tile_status tile_module_get_kernel(tile_module *module, const char *name, tile_kernel **out_kernel,
                                   tile_error *error) {
    if (!out_kernel)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_kernel is NULL");
    *out_kernel = NULL;
    if (!module)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "module is NULL");
    if (!module->num_kernels)
        return rt_fail(error, TILE_ERROR_NOT_FOUND, "'%s' has no kernel", module->name);
    if (!name && module->num_kernels != 1)
        return rt_fail(error, TILE_ERROR_NOT_FOUND, "'%s' has %u kernels; name one", module->name,
                       module->num_kernels);
    for (uint32_t i = 0; i < module->num_kernels; i++)
        if (!name || !strcmp(module->kernels[i]->name, name)) {
            *out_kernel = module->kernels[i];
            return TILE_OK;
        }
    return rt_fail(error, TILE_ERROR_NOT_FOUND, "'%s' has no kernel '%s'", module->name, name);
}

uint32_t tile_kernel_config_count(const tile_kernel *kernel) {
    return kernel ? kernel->num_configs : 0;
}

tile_status tile_kernel_get_config(const tile_kernel *kernel, uint32_t index,
                                   tile_config *out_config, tile_error *error) {
    if (!kernel || !out_config)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                       kernel ? "out_config" : "kernel");
    *out_config = (tile_config){0};
    if (index >= kernel->num_configs)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "kernel '%s' has %u configs, no %u",
                       kernel->name, kernel->num_configs, index);
    *out_config = kernel->configs[index];
    return TILE_OK;
}
