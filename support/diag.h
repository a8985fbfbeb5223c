// Source files, byte ranges and diagnostics. The compiler never prints and never stops at the
// first mistake: it reports here and goes on, and whoever owns the diag renders the messages at
// the end, sorted by position, as text with carets or as JSON lines.
#ifndef TILE_SUPPORT_DIAG_H
#define TILE_SUPPORT_DIAG_H

#include "support/text.h"

/// A range of bytes [begin, end) in a registered source file. file 0 means "no position".
typedef struct src_range {
    uint32_t file;
    uint32_t begin, end;
} src_range;

#define SRC_NONE ((src_range){0, 0, 0})

/// The smallest range that covers both.
src_range src_join(src_range a, src_range b);

/// Of a source file: larger ones are refused by whoever reads them.
enum { SOURCE_MAX_BYTES = 16 << 20 };

typedef enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } diag_severity;

/// 1-based line and byte column.
typedef struct diag_position {
    uint32_t line, column;
} diag_position;

typedef struct diag diag;

/// All messages and files live in the arena, which outlives the diag.
diag *diag_create(arena *a);
/// Registers a file and returns its id (>= 1). `path` is what messages show; both are copied.
uint32_t diag_add_file(diag *d, const char *path, sv text);
sv diag_file_text(const diag *d, uint32_t file);
const char *diag_file_path(const diag *d, uint32_t file);
uint32_t diag_file_count(const diag *d);
diag_position diag_locate(const diag *d, uint32_t file, uint32_t offset);

/// Reports an error at `at`. Message style: lower case, no final dot, source text in '…'.
/// An error whose range and text repeat an earlier one is dropped.
void diag_error(diag *d, src_range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/// Reports a warning of the named class ("offset-overflow" → -Woffset-overflow).
void diag_warning(diag *d, const char *name, src_range at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/// Adds a note to the last error or warning.
void diag_note(diag *d, src_range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/// Underlines a second range of the last error's line with '~' and a short text:
/// the two sides of a mismatch.
void diag_label(diag *d, src_range at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

uint32_t diag_error_count(const diag *d);
/// True after so many errors that whoever looks for more may stop: far more than are shown.
bool diag_is_full(const diag *d);
uint32_t diag_warning_count(const diag *d);

/// -Werror, -Wname, -Wno-name.
void diag_warnings_are_errors(diag *d);
void diag_set_warning(diag *d, sv name, bool enabled);

/// Renders all messages, sorted by position, at most 20 errors (the rest is counted).
void diag_render_text(const diag *d, strbuf *out);
/// One JSON object per line: file, line, column, end_line, end_column, severity, message, notes.
void diag_render_json(const diag *d, strbuf *out);

/// Puts text as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD.
void diag_put_json_string(strbuf *out, sv text);

#endif
