// Status texts, the caller-owned error object, and the log.
#include "runtime/rt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tile_status_text(tile_status status) {
    switch (status) {
#define X(id, value, text)                                                                         \
    case TILE_##id:                                                                                \
        return text;
        TILE_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *tile_version(void) {
#define STR2(x) #x
#define STR(x) STR2(x)
    return STR(TILE_VERSION_MAJOR) "." STR(TILE_VERSION_MINOR) "." STR(TILE_VERSION_PATCH);
}

void tile_error_clear(tile_error *error) {
    if (!error)
        return;
    free(error->log);
    memset(error, 0, sizeof *error);
}

static tile_status fill(tile_error *error, tile_status status, const char *log, const char *fmt,
                        va_list args) {
    if (!error)
        return status;
    // The arguments may point into the error being replaced, so it is cleared last.
    char message[sizeof error->message];
    vsnprintf(message, sizeof message, fmt, args);
    char *copy = log ? strdup(log) : NULL;
    tile_error_clear(error);
    error->status = status;
    memcpy(error->message, message, sizeof message);
    error->log = copy;
    return status;
}

tile_status rt_fail(tile_error *error, tile_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fill(error, status, NULL, fmt, args);
    va_end(args);
    return status;
}

tile_status rt_fail_log(tile_error *error, tile_status status, const char *log, const char *fmt,
                        ...) {
    va_list args;
    va_start(args, fmt);
    fill(error, status, log, fmt, args);
    va_end(args);
    return status;
}

void rt_log(const tile_device *d, tile_log_level level, const char *fmt, ...) {
    if (!d->log)
        return;
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0)
        return; // without memory the work matters more than the word on it
    d->log(d->log_context, level, text);
    free(text);
}

void tile_free(void *p) { free(p); }
