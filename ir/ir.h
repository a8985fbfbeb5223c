// Tile IR: what a kernel means, before anyone has decided which thread does what.
//
// A module holds functions, one per kernel specialization. A function is one block; control flow
// is structured: `for`, `while` and `if` hold their bodies as regions of one block each, which end
// in yield (condition, return). A value is a scalar (rank 0), uniform across the program, or a
// tile: element type, shape of powers of two and, once pass_layout has run, a layout. Everything
// lives in the module's arena; nothing is freed by hand.
//
// ops.def lists the ops, attrs.def their attributes; docs/ir.md is the reference. frontend/lower.c
// makes this IR, the passes in passes.def change it, codegen/emit.c reads it.
#ifndef TILE_IR_IR_H
#define TILE_IR_IR_H

#include "ir/dtype.h"
#include "ir/layout.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/text.h"

enum {
    IR_MAX_RANK = LAYOUT_MAX_RANK,
    IR_MAX_ELEMENTS = 1 << 20,
    IR_MAX_PARAMS = 1000,
    IR_MAX_NESTING = 200, ///< regions within regions; code that recurses over regions relies on it
};

/// A scalar type if rank is 0, else a tile type. Compare with ir_type_equal.
typedef struct ir_type {
    dtype elem;         ///< DT_PTR for pointers
    dtype pointee;      ///< what a pointer points to, else DT_VOID
    bool pointer_const; ///< *const: read-only and not aliased by writes
    uint8_t rank;
    uint32_t shape[IR_MAX_RANK]; ///< powers of two; unused entries are 0
} ir_type;

typedef enum ir_opcode {
#define OP(id, ...) id,
#include "ir/ops.def"
#undef OP
    IR_OPCODE_COUNT
} ir_opcode;

typedef enum ir_attr_key {
#define ATTR(id, ...) id,
#include "ir/attrs.def"
#undef ATTR
    IR_ATTR_COUNT
} ir_attr_key;

typedef enum ir_attr_kind { INT, BITS, STR, INTS, FLAG } ir_attr_kind;

/// Traits of an op, as in ops.def.
enum {
    PURE = 1 << 0,
    ELEMENTWISE = 1 << 1,
    READS = 1 << 2,
    WRITES = 1 << 3,
    EFFECT = 1 << 4,
    TERMINATOR = 1 << 5,
    ISOLATED = 1 << 6,
    CHEAP = 1 << 7,
    LOOP = 1 << 8,
};

/// A row of ops.def.
typedef struct ir_op_info {
    const char *name;
    const char *operands; ///< names, "?" optional, "*" variadic
    int num_results;      ///< -1: any number
    int num_regions;
    unsigned traits;
    const char *attrs; ///< names of the attributes it may have
    const char *doc;
} ir_op_info;

/// How many operands an op takes: `least` must be present, up to `most` are named; more if variadic.
typedef struct ir_arity {
    uint32_t least, most;
    bool variadic;
} ir_arity;

const ir_op_info *ir_get_op_info(ir_opcode op);
ir_arity ir_get_arity(ir_opcode op);
const char *ir_attr_name(ir_attr_key key);
ir_attr_kind ir_attr_get_kind(ir_attr_key key);

typedef struct ir_value ir_value;
typedef struct ir_op ir_op;
typedef struct ir_block ir_block;
typedef struct ir_func ir_func;
typedef struct ir_module ir_module;

struct ir_value {
    ir_type type;
    const layout *layout; ///< interned in the function; NULL for scalars and before pass_layout
    ir_op *def;           ///< the op that gives it, or NULL for a block argument
    ir_block *block;      ///< the block it is an argument of, or where def stands
    uint32_t index;       ///< result or argument number
    uint32_t id;          ///< dense number, valid after ir_number_values
    sv name;              ///< from the source, may be empty
    ir_value *forward;    ///< set by ir_replace: what to use instead; see ir_apply_replacements
};

typedef struct ir_attr {
    ir_attr_key key;
    int64_t i;     ///< INT, BITS (as uint64_t), FLAG
    sv str;        ///< STR
    int64_t *ints; ///< INTS
    uint32_t num_ints;
} ir_attr;

struct ir_op {
    ir_opcode opcode;
    uint32_t num_operands, num_results, num_regions, num_attrs;
    ir_value **operands; ///< an absent optional operand is NULL; trailing ones are present as NULL
    ir_value **results;
    ir_block *regions[2];
    ir_attr *attrs;
    src_range range;
    ir_block *block; ///< NULL once removed
    ir_op *prev, *next;
    uint32_t id; ///< dense number, valid after ir_number_values
};

struct ir_block {
    ir_func *func;
    ir_op *parent; ///< the op it is a region of; NULL for a function's body
    ir_value **args;
    uint32_t num_args, cap_args;
    ir_op *first, *last;
};

/// A kernel parameter: argument i of the body block, with what the specialization knows of it.
typedef struct ir_param {
    sv name;
    /// Known divisor: of an integer's value, of a pointer's address in bytes; 1 if none. pass_layout
    /// lowers it to what makes some access wider, so that what is left is what the code relies on.
    uint32_t divisibility;
    bool is_one;      ///< the integer is known to be 1 (it keeps its type and stays a parameter)
    uint32_t claimed; ///< divisor that the source's annotation promises (0: none), for checks
    src_range range;
} ir_param;

struct ir_func {
    ir_module *module;
    ir_func *next;
    sv name; ///< the entry's name in the binary
    ir_block *body;
    ir_param *params; ///< one per argument of body
    uint32_t num_params;
    uint32_t num_warps, num_ctas, num_stages;
    uint32_t maxnreg; ///< 0: none
    const layout **layouts;
    uint32_t num_layouts, cap_layouts;
    uint32_t num_values, num_ops; ///< set by ir_number_values
    src_range range;
};

struct ir_module {
    arena *arena;
    diag *diag;
    ir_func *first, *last;
};

// --- types
ir_type ir_scalar_type(dtype elem);
ir_type ir_pointer_type(dtype pointee, bool is_const);
/// The tile type of `scalar`'s element with a shape; rank 0 gives the scalar.
ir_type ir_tile_type(ir_type elem, const uint32_t *shape, unsigned rank);
/// The same element type as t, with no shape.
ir_type ir_element_type(ir_type t);
/// The same shape as t with another (non-pointer) element type.
ir_type ir_type_with_elem(ir_type t, dtype elem);
bool ir_type_equal(ir_type a, ir_type b);
bool ir_shape_equal(ir_type a, ir_type b);
uint32_t ir_type_elements(ir_type t);
static inline bool ir_is_tile(ir_type t) { return t.rank > 0; }
static inline bool ir_is_pointer(ir_type t) { return t.elem == DT_PTR; }
/// "tile<4x1024xfp32>", "i32", "*fp32", "*const bf16", "tile<64x*fp32>".
void ir_type_print(ir_type t, strbuf *out);
/// The same without a tile's closing '>', for a layout to follow.
void ir_type_print_open(ir_type t, strbuf *out);
/// The same as ir_type_print, as a C string in the arena.
const char *ir_type_string(arena *a, ir_type t);

// --- construction
ir_module *ir_module_create(arena *a, diag *d);
/// Adds an empty function with a body block and no parameters.
ir_func *ir_func_create(ir_module *m, sv name, uint32_t num_warps, uint32_t num_ctas);
ir_value *ir_add_param(ir_func *f, sv name, ir_type type, uint32_t divisibility, bool is_one,
                       src_range range);
ir_block *ir_block_create(ir_func *f, ir_op *parent);
ir_value *ir_add_block_arg(ir_block *b, ir_type type, sv name);

/// Where new ops go: at the end of `block`, or before `before` if that is set.
typedef struct ir_builder {
    ir_func *func;
    ir_block *block;
    ir_op *before;
    src_range range; ///< given to every op made
} ir_builder;

/// Makes an op with operands (may be NULL where optional) and result types, and inserts it.
/// Regions are left NULL for the caller to set with ir_block_create(f, op). Operand arrays are
/// copied, and padded with NULL up to the op's optional operands.
ir_op *ir_create(ir_builder *b, ir_opcode op, ir_value *const *operands, uint32_t num_operands,
                 const ir_type *results, uint32_t num_results);
/// ir_create for ops with one result; returns it.
ir_value *ir_create_value(ir_builder *b, ir_opcode op, ir_value *const *operands,
                          uint32_t num_operands, ir_type result);

void ir_set_int(ir_op *op, ir_attr_key key, int64_t v);
void ir_set_str(ir_op *op, ir_attr_key key, sv v);
void ir_set_ints(ir_op *op, ir_attr_key key, const int64_t *v, uint32_t n);
void ir_set_flag(ir_op *op, ir_attr_key key);
const ir_attr *ir_find_attr(const ir_op *op, ir_attr_key key);
int64_t ir_get_int(const ir_op *op, ir_attr_key key, int64_t if_absent);
sv ir_get_str(const ir_op *op, ir_attr_key key); ///< empty if absent
bool ir_get_flag(const ir_op *op, ir_attr_key key);

// Convenience builders; each gives its result.
/// A constant of an integer type (scalar or tile); v is wrapped to its width.
ir_value *ir_const_int(ir_builder *b, ir_type type, int64_t v);
/// A constant of a float type (scalar or tile); v is rounded to it.
ir_value *ir_const_float(ir_builder *b, ir_type type, double v);
/// A constant from its bit pattern.
ir_value *ir_const_bits(ir_builder *b, ir_type type, uint64_t bits);
ir_value *ir_unary(ir_builder *b, ir_opcode op, ir_value *x);
ir_value *ir_binary(ir_builder *b, ir_opcode op, ir_value *x, ir_value *y);
ir_value *ir_cmp(ir_builder *b, const char *pred, ir_value *x, ir_value *y);
ir_value *ir_select(ir_builder *b, ir_value *c, ir_value *x, ir_value *y);
/// The value in another element type (no-op if equal).
ir_value *ir_cast(ir_builder *b, ir_value *x, dtype to);
/// Scalar to tile; returns x if the target has rank 0.
ir_value *ir_splat(ir_builder *b, ir_value *x, const uint32_t *shape, unsigned rank);
ir_value *ir_reshape(ir_builder *b, ir_value *x, const uint32_t *shape, unsigned rank);
ir_value *ir_broadcast(ir_builder *b, ir_value *x, const uint32_t *shape);
ir_value *ir_addptr(ir_builder *b, ir_value *ptr, ir_value *offset);
ir_op *ir_yield(ir_builder *b, ir_value *const *values, uint32_t n);

// --- reading and changing
/// If v is a `const` (or a splat of one), stores its bits and returns true.
bool ir_is_const(const ir_value *v, uint64_t *bits);
/// If v is an integer constant, stores its value, extended by its own signedness.
bool ir_is_const_int(const ir_value *v, int64_t *out);
/// True for a mask arange < splat(n): 1-D tiles end there.
bool ir_is_limit(const ir_value *mask);
/// Unlinks an op from its block.
void ir_remove(ir_op *op);
/// Moves an op before another one (possibly in another block).
void ir_move_before(ir_op *op, ir_op *before);
/// Marks that every use of v shall become a use of `with`. Takes effect through ir_resolve, and
/// for good in ir_apply_replacements.
void ir_replace(ir_value *v, ir_value *with);
/// Follows replacements. NULL gives NULL.
ir_value *ir_resolve(ir_value *v);
/// Rewrites every operand of the function through ir_resolve.
void ir_apply_replacements(ir_func *f);
/// Gives every value and op of the function a dense id, in program order; returns the value count.
uint32_t ir_number_values(ir_func *f);
/// Number of uses of each value, indexed by id (calls ir_number_values).
uint32_t *ir_count_uses(ir_func *f, arena *scratch);
/// The interned copy of a layout: equal layouts give equal pointers.
const layout *ir_intern_layout(ir_func *f, const layout *l);
bool ir_has_trait(const ir_op *op, unsigned trait);

/// Calls fn for every op, in program order, an op before the ops of its regions.
/// fn may remove the op it is given.
typedef void ir_op_visitor(ir_op *op, void *ctx);
void ir_walk(ir_block *b, ir_op_visitor *fn, void *ctx);

/// Bounds of an integer, both included.
typedef struct ir_interval {
    int64_t low, high;
} ir_interval;
/// What is known of v, a scalar or a tile, from its operands and from what the author assumes.
ir_interval ir_interval_of(const ir_func *f, const ir_value *v);

// --- text and checking
/// Prints in the syntax that ir_parse reads. Flags: with_locations adds ` loc(line:col)`.
void ir_print_module(const ir_module *m, strbuf *out, bool with_locations);
void ir_print_func(const ir_func *f, strbuf *out, bool with_locations);
/// Reads IR text (registered in the diag as file `file`). NULL after reporting errors.
ir_module *ir_parse(arena *a, diag *d, uint32_t file);
/// Checks structure and types; reports what is wrong through the module's diag, prefixed by
/// `where` (the pass that has just run). True if all is well.
bool ir_verify(const ir_func *f, const char *where);

#endif
