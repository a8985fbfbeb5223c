// Devices, buffers, copies, streams and events: the public calls, checked here once and handed to
// the device's table of functions.
#include "runtime/rt.h"

#include <stdlib.h>
#include <string.h>

static tile_status null_argument(tile_error *error, const char *what) {
    return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL", what);
}

static tile_status out_of_memory(tile_error *error) {
    return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
}

/// "cuda:3" → 3, "cuda" → 0; -1 if it is no such name.
static int cuda_index(const char *name) {
    if (strncmp(name, "cuda", 4) != 0)
        return -1;
    if (!name[4])
        return 0;
    char *end;
    if (name[4] != ':' || name[5] < '0' || name[5] > '9')
        return -1;
    unsigned long index = strtoul(name + 5, &end, 10);
    return *end || index > 1000 ? -1 : (int)index;
}

tile_status tile_device_open(const char *name, tile_device **out_device, tile_error *error) {
    if (!out_device)
        return null_argument(error, "out_device");
    *out_device = NULL;
    if (!name)
        return null_argument(error, "the device's name");
    int index = cuda_index(name);
    bool is_cpu = !strcmp(name, "cpu");
    if (index < 0 && !is_cpu)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "unknown device '%s'; expected cpu, cuda or cuda:N", name);
    tile_device *d = calloc(1, sizeof *d);
    if (!d)
        return out_of_memory(error);
    d->ops = is_cpu ? &device_ops_cpu : &device_ops_cuda;
    pthread_mutex_init(&d->lock, NULL);
    tile_status status = rt_cache_open(&d->cache, NULL, 0, error);
    if (!status)
        status = d->ops->open(d, index, error);
    if (status) {
        rt_cache_close(&d->cache);
        pthread_mutex_destroy(&d->lock);
        free(d);
        return status;
    }
    *out_device = d;
    return TILE_OK;
}

tile_status tile_device_set_cache(tile_device *device, const char *directory, uint64_t max_bytes,
                                  tile_error *error) {
    if (!device)
        return null_argument(error, "device");
    rt_cache cache;
    tile_status status = rt_cache_open(&cache, directory, max_bytes, error);
    if (status)
        return status;
    rt_cache_close(&device->cache);
    device->cache = cache;
    return TILE_OK;
}

void tile_device_close(tile_device *device) {
    if (!device)
        return;
    for (tile_module *m = atomic_load(&device->bundles), *next; m; m = next) {
        next = m->next;
        tile_module_destroy(m);
    }
    pthread_mutex_destroy(&device->lock);
    device->ops->close(device);
    rt_cache_close(&device->cache);
    free(device);
}

tile_status tile_device_get_info(tile_device *device, tile_device_info *out_info,
                                 tile_error *error) {
    if (!device || !out_info)
        return null_argument(error, device ? "out_info" : "device");
    *out_info = device->info;
    return TILE_OK;
}

void tile_device_set_log(tile_device *device, tile_log_fn *log, void *context) {
    if (!device)
        return;
    device->log = log;
    device->log_context = context;
}

// --- buffers

tile_status tile_buffer_create(tile_device *device, size_t size_bytes, tile_buffer **out_buffer,
                               tile_error *error) {
    if (!out_buffer)
        return null_argument(error, "out_buffer");
    *out_buffer = NULL;
    if (!device)
        return null_argument(error, "device");
    // The cpu device touches every page, so what the machine does not have must not be promised.
    if (size_bytes > device->info.memory_bytes)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "%zu bytes are more than the device has",
                       size_bytes);
    tile_buffer *b = calloc(1, sizeof *b);
    if (!b)
        return out_of_memory(error);
    b->device = device;
    b->size_bytes = size_bytes;
    tile_status status = device->ops->alloc(device, size_bytes, &b->data, error);
    if (status) {
        free(b);
        return status;
    }
    *out_buffer = b;
    return TILE_OK;
}

void tile_buffer_destroy(tile_buffer *buffer) {
    if (!buffer)
        return;
    buffer->device->ops->free(buffer->device, buffer->data, buffer->size_bytes);
    free(buffer);
}

void *tile_buffer_data(const tile_buffer *buffer) { return buffer ? buffer->data : NULL; }
size_t tile_buffer_size(const tile_buffer *buffer) { return buffer ? buffer->size_bytes : 0; }

/// The queue's native handle; false if the stream belongs to another device.
static bool native_stream(const tile_device *d, const tile_stream *stream, void **out) {
    *out = stream ? stream->native : NULL;
    return !stream || stream->device == d;
}

/// Checks a range of a buffer and the stream for a copy or fill.
static tile_status check_range(const tile_buffer *b, size_t offset, size_t size,
                               const tile_stream *stream, void **out_stream, tile_error *error) {
    *out_stream = NULL;
    if (!b)
        return null_argument(error, "the buffer");
    if (offset > b->size_bytes || size > b->size_bytes - offset)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "%zu bytes at offset %zu are past the end of a buffer of %zu bytes", size,
                       offset, b->size_bytes);
    if (!native_stream(b->device, stream, out_stream))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the stream belongs to another device");
    return TILE_OK;
}

tile_status tile_copy_to_device(tile_buffer *dst, size_t offset_bytes, const void *src,
                                size_t size_bytes, tile_stream *stream, tile_error *error) {
    void *native;
    tile_status status = check_range(dst, offset_bytes, size_bytes, stream, &native, error);
    if (status || !size_bytes)
        return status;
    if (!src)
        return null_argument(error, "src");
    return dst->device->ops->copy(dst->device, (char *)dst->data + offset_bytes, false, src, true,
                                  size_bytes, native, error);
}

tile_status tile_copy_to_host(void *dst, const tile_buffer *src, size_t offset_bytes,
                              size_t size_bytes, tile_stream *stream, tile_error *error) {
    void *native;
    tile_status status = check_range(src, offset_bytes, size_bytes, stream, &native, error);
    if (status || !size_bytes)
        return status;
    if (!dst)
        return null_argument(error, "dst");
    return src->device->ops->copy(src->device, dst, true, (const char *)src->data + offset_bytes,
                                  false, size_bytes, native, error);
}

tile_status tile_copy(tile_buffer *dst, size_t dst_offset_bytes, const tile_buffer *src,
                      size_t src_offset_bytes, size_t size_bytes, tile_stream *stream,
                      tile_error *error) {
    void *native;
    tile_status status = check_range(dst, dst_offset_bytes, size_bytes, stream, &native, error);
    if (!status)
        status = check_range(src, src_offset_bytes, size_bytes, stream, &native, error);
    if (status || !size_bytes)
        return status;
    if (dst->device != src->device)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the buffers are on different devices");
    return dst->device->ops->copy(dst->device, (char *)dst->data + dst_offset_bytes, false,
                                  (const char *)src->data + src_offset_bytes, false, size_bytes,
                                  native, error);
}

tile_status tile_fill(tile_buffer *dst, size_t offset_bytes, uint8_t byte, size_t size_bytes,
                      tile_stream *stream, tile_error *error) {
    void *native;
    tile_status status = check_range(dst, offset_bytes, size_bytes, stream, &native, error);
    if (status || !size_bytes)
        return status;
    return dst->device->ops->fill(dst->device, (char *)dst->data + offset_bytes, byte, size_bytes,
                                  native, error);
}

// --- streams and events

static tile_status make_stream(tile_device *device, void *native, bool owned, tile_stream **out,
                               tile_error *error) {
    tile_stream *s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(error);
    *s = (tile_stream){.device = device, .native = native, .owned = owned};
    *out = s;
    return TILE_OK;
}

tile_status tile_stream_create(tile_device *device, tile_stream **out_stream, tile_error *error) {
    if (!out_stream)
        return null_argument(error, "out_stream");
    *out_stream = NULL;
    if (!device)
        return null_argument(error, "device");
    void *native = NULL;
    tile_status status = device->ops->stream_create(device, &native, error);
    if (!status && (status = make_stream(device, native, true, out_stream, error)))
        device->ops->stream_destroy(device, native);
    return status;
}

tile_status tile_stream_wrap(tile_device *device, void *native, tile_stream **out_stream,
                             tile_error *error) {
    if (!out_stream)
        return null_argument(error, "out_stream");
    *out_stream = NULL;
    if (!device)
        return null_argument(error, "device");
    return make_stream(device, native, false, out_stream, error);
}

void tile_stream_destroy(tile_stream *stream) {
    if (!stream)
        return;
    if (stream->owned)
        stream->device->ops->stream_destroy(stream->device, stream->native);
    free(stream);
}

void *tile_stream_native(const tile_stream *stream) { return stream ? stream->native : NULL; }

tile_status tile_synchronize(tile_device *device, tile_stream *stream, tile_error *error) {
    if (!device)
        return null_argument(error, "device");
    void *native;
    if (!native_stream(device, stream, &native))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the stream belongs to another device");
    return device->ops->synchronize(device, native, stream == NULL, error);
}

tile_status tile_event_create(tile_device *device, tile_event **out_event, tile_error *error) {
    if (!out_event)
        return null_argument(error, "out_event");
    *out_event = NULL;
    if (!device)
        return null_argument(error, "device");
    tile_event *e = calloc(1, sizeof *e);
    if (!e)
        return out_of_memory(error);
    e->device = device;
    tile_status status = device->ops->event_create(device, &e->native, error);
    if (status) {
        free(e);
        return status;
    }
    *out_event = e;
    return TILE_OK;
}

void tile_event_destroy(tile_event *event) {
    if (!event)
        return;
    event->device->ops->event_destroy(event->device, event->native);
    free(event);
}

tile_status tile_event_record(tile_event *event, tile_stream *stream, tile_error *error) {
    if (!event)
        return null_argument(error, "event");
    void *native;
    if (!native_stream(event->device, stream, &native))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the stream belongs to another device");
    tile_status status =
        event->device->ops->event_record(event->device, event->native, native, error);
    if (!status)
        atomic_store(&event->recorded, true);
    return status;
}

tile_status tile_event_elapsed(tile_event *start, tile_event *end, float *out_milliseconds,
                               tile_error *error) {
    if (!start || !end || !out_milliseconds)
        return null_argument(error, !start ? "start" : !end ? "end" : "out_milliseconds");
    *out_milliseconds = 0;
    if (start->device != end->device)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the events are on different devices");
    if (!atomic_load(&start->recorded) || !atomic_load(&end->recorded))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the %s event has not been recorded",
                       atomic_load(&start->recorded) ? "end" : "start");
    return end->device->ops->event_elapsed(end->device, start->native, end->native,
                                           out_milliseconds, error);
}
