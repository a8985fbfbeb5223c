// What the builtins_*.c files share: the builders' declarations, made from the table, and the flags
// that only the table needs.
#ifndef TILE_FRONTEND_BUILTINS_H
#define TILE_FRONTEND_BUILTINS_H

#include "frontend/semantics.h"

enum {
    BUILTIN_ONLY_METHOD = 1 << 8,
    BUILTIN_REFUSED = 1 << 9,
    BUILTIN_CUDA = 1 << 11,      ///< of tl.extra.cuda only
    BUILTIN_LIBDEVICE = 1 << 10, ///< written in libdevice.tile
};

typedef value builtin_builder(lowering *lo, value *args, src_range range);

#define BUILTIN(name, build, ...) builtin_builder build;
#define STDLIB(...)
#define LIBDEVICE(...)
#define REFUSED(...)
#include "frontend/builtins.def"
#undef BUILTIN
#undef STDLIB
#undef LIBDEVICE
#undef REFUSED

/// The name of a list nearest to `wrong` (one or two letters off), or NULL.
typedef struct name_guess {
    sv wrong, best;
    unsigned distance;
} name_guess;
name_guess guess_begin(sv wrong);
void guess_try(name_guess *g, sv candidate);
/// "; did you mean 'mask'?", or "" if nothing was near.
const char *guess_text(lowering *lo, const name_guess *g);

/// The built-in whose name in `module` is nearest, as guess_text gives it.
const char *builtin_suggest(lowering *lo, sv module, sv wrong);
/// The same among the methods of tiles; of a function that is none, how it is called.
const char *builtin_suggest_method(lowering *lo, sv wrong);
/// A callable that answers `result`: what dtype.is_floating is.
value builtin_answer(lowering *lo, value result);
/// A method of tiles as a value bound to x; false (silently) if there is none.
bool builtin_bind_method(lowering *lo, const value *x, sv name, src_range range, value *out);

// --- builtins_block.c
/// The beginning of a block pointer or descriptor: a base pointer and the shape of a block. Its
/// items have room for num_lists lists of entries.
bool block_begin(lowering *lo, const char *what, value_kind kind, const value *base,
                 const value *shape, unsigned num_lists, value *out, src_range range);
/// Reads a tuple of integer scalars, one per dimension, as entries of a block.
bool block_read_entries(lowering *lo, const char *what, const char *role, const value *v,
                        unsigned rank, value *out, src_range range);
/// What `padding_option` says elements of this type are that are out of bounds: a number or None.
bool block_read_padding(lowering *lo, const value *v, dtype elem, value *other, src_range range);
/// The pointers of a block at these offsets, and the mask of the dimensions in `checked` (bits).
void block_access(lowering *lo, const value *block, const value *offsets, unsigned checked,
                  value *ptr, value *mask, src_range range);
/// If ptr is a block pointer it becomes a tile of pointers, and mask and other (if not NULL) what
/// `boundary` and `padding` (if not NULL) ask for; else these may not be there. False after an error.
bool block_resolve(lowering *lo, const char *what, const value *boundary, const value *padding,
                   value *ptr, value *mask, value *other, src_range range);

/// x.name of a block pointer or descriptor (builtins_descriptor.c).
value block_attribute(lowering *lo, const value *x, sv name, src_range range);

/// The reductions, for Python's max and min: args as in the row "max".
value build_max_or_min(lowering *lo, bool is_max, value *args, src_range range);
/// maximum() or minimum() of two run-time values.
value build_extremum(lowering *lo, bool is_max, value x, value y, bool nan_wins, src_range range);

#endif
