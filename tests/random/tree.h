// A random program as a typed tree: what generate.c makes, print.c writes as .tile text, evaluate.c
// runs on plain arrays, and reduce.c shrinks. It shares nothing with the compiler: types, promotion
// and shapes are spelled out here a second time, from the language's description.
//
// Every expression has its type (element and shape) written in the node, so that any expression may
// be replaced by another of the same type: that is how programs are repaired and shrunk.
#ifndef TILE_RANDOM_TREE_H
#define TILE_RANDOM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Element types: X(id, name, long name, bits, signed, float).
#define ELEMS(X)                                                                                   \
    X(I1, "i1", "int1", 1, 0, 0)                                                                   \
    X(I8, "i8", "int8", 8, 1, 0)                                                                   \
    X(I16, "i16", "int16", 16, 1, 0)                                                               \
    X(I32, "i32", "int32", 32, 1, 0)                                                               \
    X(I64, "i64", "int64", 64, 1, 0)                                                               \
    X(U8, "u8", "uint8", 8, 0, 0)                                                                  \
    X(U16, "u16", "uint16", 16, 0, 0)                                                              \
    X(U32, "u32", "uint32", 32, 0, 0)                                                              \
    X(U64, "u64", "uint64", 64, 0, 0)                                                              \
    X(E4, "fp8e4nv", "float8e4nv", 8, 1, 1)                                                        \
    X(E5, "fp8e5", "float8e5", 8, 1, 1)                                                            \
    X(F16, "fp16", "float16", 16, 1, 1)                                                            \
    X(BF16, "bf16", "bfloat16", 16, 1, 1)                                                          \
    X(F32, "fp32", "float32", 32, 1, 1)                                                            \
    X(F64, "fp64", "float64", 64, 1, 1)

// clang-format off
typedef enum elem {
#define X(id, ...) T_##id,
    ELEMS(X)
#undef X
    T_PTR, ///< into buffer type.buf
    NUM_ELEMS = T_PTR,
    T_NONE,
} elem;
// clang-format on

typedef struct elem_info {
    const char *name, *long_name;
    unsigned bits;
    bool is_signed, is_float;
} elem_info;
/// A pointer and no type at all are rows of zeros.
extern const elem_info elems[T_NONE + 1];

static inline bool is_float(elem t) { return t < NUM_ELEMS && elems[t].is_float; }
static inline bool is_int(elem t) { return t < NUM_ELEMS && !elems[t].is_float; }
static inline bool is_fp8(elem t) { return t == T_E4 || t == T_E5; }
static inline bool is_signed(elem t) { return elems[t].is_signed; }
static inline unsigned bits_of(elem t) { return elems[t].bits; }
/// In memory.
static inline unsigned bytes_of(elem t) { return elems[t].bits < 8 ? 1 : elems[t].bits / 8; }

enum { MAX_RANK = 4, MAX_KIDS = 6, MAX_TARGETS = 3, MAX_NUMEL = 8192 };

typedef struct type {
    uint8_t elem;
    uint8_t buf; ///< of a pointer: what it points into
    uint8_t rank;
    uint16_t dim[MAX_RANK];
} type;

/// X(kind, name in the coverage table)
#define NODES(X)                                                                                   \
    X(NUM, "literal")                                                                              \
    X(VAR, "variable")                                                                             \
    X(PID, "program_id")                                                                           \
    X(NPROGS, "num_programs")                                                                      \
    X(ARANGE, "arange")                                                                            \
    X(FULL, "full")                                                                                \
    X(UNARY, "unary")                                                                              \
    X(BINARY, "binary")                                                                            \
    X(COMPARE, "comparison")                                                                       \
    X(WHERE, "where")                                                                              \
    X(CHOOSE, "a if c else b")                                                                     \
    X(CLAMP, "clamp")                                                                              \
    X(FMA, "fma")                                                                                  \
    X(CAST, "cast")                                                                                \
    X(BITCAST, "bitcast")                                                                          \
    X(EXPAND, "expand_dims")                                                                       \
    X(SQUEEZE, "squeeze")                                                                          \
    X(RESHAPE, "reshape")                                                                          \
    X(PERMUTE, "permute")                                                                          \
    X(BROADCAST, "broadcast_to")                                                                   \
    X(JOIN, "join")                                                                                \
    X(INTERLEAVE, "interleave")                                                                    \
    X(CAT, "cat")                                                                                  \
    X(FLIP, "flip")                                                                                \
    X(SPLIT, "split")                                                                              \
    X(REDUCE, "reduction")                                                                         \
    X(FOLD, "reduce by function")                                                                  \
    X(EXTREMUM, "max/min with index")                                                              \
    X(SCAN, "scan")                                                                                \
    X(SCANFOLD, "scan by function")                                                                \
    X(SORT, "sort")                                                                                \
    X(TOPK, "topk")                                                                                \
    X(HISTOGRAM, "histogram")                                                                      \
    X(GATHER, "gather")                                                                            \
    X(LOAD, "load")                                                                                \
    X(BASE, "pointer")                                                                             \
    X(OFFSET, "pointer + offset")                                                                  \
    X(BLOCK, "block of an array")                                                                  \
    X(ATOMIC, "atomic with a result")                                                              \
    X(CALL, "helper call")                                                                         \
    X(MATH, "function of a float")                                                                 \
    X(HINT, "hint")

// clang-format off
typedef enum node_kind {
#define X(id, name) N_##id,
    NODES(X)
#undef X
    NUM_NODE_KINDS
} node_kind;
// clang-format on
extern const char *const node_names[NUM_NODE_KINDS];

/// X(op, text): operators of UNARY, BINARY, COMPARE, REDUCE, EXTREMUM and MATH nodes.
// clang-format off
#define OPS(X)                                                                                     \
    X(NEG, "-") X(INVERT, "~") X(ABS, "abs") X(FLOOR, "floor") X(CEIL, "ceil")                     \
    X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(FLOORDIV, "//") X(MOD, "%")                  \
    X(AND, "&") X(OR, "|") X(XOR, "^") X(SHL, "<<") X(SHR, ">>")                                   \
    X(MAXIMUM, "maximum") X(MINIMUM, "minimum") X(UMULHI, "umulhi")                                \
    X(EQ, "==") X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=")                          \
    X(SUM, "sum") X(MAX, "max") X(MIN, "min") X(ARGMAX, "argmax") X(ARGMIN, "argmin")              \
    X(XCHG, "xchg") X(CAS, "cas") X(XORSUM, "xor_sum") X(REDUCEOR, "reduce_or")                    \
    X(CUMSUM, "cumsum") X(CUMPROD, "cumprod")                                                      \
    X(EXP, "exp") X(EXP2, "exp2") X(LOG, "log") X(LOG2, "log2") X(SIN, "sin") X(COS, "cos")        \
    X(SQRT, "sqrt") X(RSQRT, "rsqrt") X(ERF, "erf") X(TANH, "tanh") X(SIGMOID, "sigmoid")

typedef enum op {
#define X(id, text) O_##id,
    OPS(X)
#undef X
    NUM_OPS
} op;
// clang-format on
extern const char *const op_texts[NUM_OPS];

typedef struct node {
    uint8_t kind;
    uint8_t op;
    uint8_t style;   ///< random bits: which of several spellings print.c uses
    bool keep_dims;  ///< of a reduction
    bool variant;    ///< CAST: toward zero; maximum, minimum, clamp: a NaN wins; LOAD: volatile;
                     ///< BLOCK: NaN out of bounds; scans: reversed; SORT: falling
    bool descriptor; ///< of a BLOCK: not a block pointer
    int8_t axis;     ///< of reductions: -1 is None
    uint8_t num_kids;
    uint8_t order[MAX_RANK]; ///< of PERMUTE; of BLOCK: dimensions, the contiguous one first
    uint8_t checked;         ///< of BLOCK: dimensions whose bounds are checked, as bits
    uint16_t extent[MAX_RANK], stride[MAX_RANK]; ///< of BLOCK: the array's
    int16_t id;                 ///< variable, buffer, function; of NUM: 1 + a constexpr parameter
    type type;                  ///< of a literal: the type it would have by itself; it is weak
    int64_t i;                  ///< an integer literal; arange's start; of a HINT along axis
    double f;                   ///< a float literal
    struct node *kid[MAX_KIDS]; ///< LOAD: pointer, mask or NULL, other or NULL;
                                ///< HISTOGRAM: tile, mask or NULL;
                                ///< ATOMIC: pointer, value, mask or NULL, of CAS the other one;
                                ///< BLOCK: base, offsets, and by how much it advances or nothing
} node;

/// X(kind, name in the coverage table)
#define STMTS(X)                                                                                   \
    X(ASSIGN, "assignment")                                                                        \
    X(UNPACK, "tuple assignment")                                                                  \
    X(STORE, "store")                                                                              \
    X(ATOMIC, "atomic")                                                                            \
    X(IF, "if")                                                                                    \
    X(FOR, "for")                                                                                  \
    X(STATIC_FOR, "static_range")                                                                  \
    X(WHILE, "while")                                                                              \
    X(RETURN, "early return")                                                                      \
    X(CONTINUE, "continue")                                                                        \
    X(ASSUME, "assume")

// clang-format off
typedef enum stmt_kind {
#define X(id, name) S_##id,
    STMTS(X)
#undef X
    NUM_STMT_KINDS
} stmt_kind;
// clang-format on
extern const char *const stmt_names[NUM_STMT_KINDS];

typedef struct block {
    struct stmt **at;
    int count, capacity;
} block;

typedef struct stmt {
    uint8_t kind;
    uint8_t op; ///< of ATOMIC: ADD MAXIMUM MINIMUM AND OR XOR
    uint8_t style;
    uint8_t num_targets;
    int16_t target[MAX_TARGETS]; ///< variables; FOR: the induction variable
    node *e[3]; ///< ASSIGN: value. STORE, ATOMIC: pointer, value, mask or NULL. IF, WHILE:
                ///< condition. FOR: from, to, step (literals for STATIC_FOR).
    block body, other;
} stmt;

/// What a HINT says, its node's `id`.
enum { HINT_MULTIPLE, HINT_CONTIGUOUS, HINT_CONSTANT, NUM_HINTS };

typedef enum var_role { ROLE_LOCAL, ROLE_PARAM, ROLE_HELPER } var_role;

typedef struct var_info {
    type type;
    uint8_t role;
    bool constant; ///< a static_range's variable: weak, never assigned
    uint8_t hint;  ///< of a parameter: promise no divisor above this (see true_hint); 0: none
    int64_t i;     ///< the launch's argument, of a parameter
} var_info;

/// Who may touch a buffer. OWN: each program its own slice of `size` elements.
typedef enum buffer_role { BUF_IN, BUF_OWN, BUF_SHARED, BUF_APPROX } buffer_role;

typedef struct buffer {
    uint8_t elem, role;
    uint8_t storage; ///< its own index, or that of the buffer it overlaps entirely
    uint8_t fill;    ///< kind of contents, see evaluate.c
    uint8_t atomic;  ///< of SHARED: the one operation on it
    bool is_const;   ///< a *const parameter
    bool paired;     ///< one of two names of the same memory, always accessed alike
    uint8_t shift;   ///< elements by which its address misses alignment
    uint8_t hint;    ///< promise no alignment in bytes above this; 0: none
    uint32_t size;   ///< elements (per program if OWN), a power of two
} buffer;

typedef struct func {
    bool is_combine;    ///< of a reduction or scan
    bool is_ordered;    ///< of a scan: associative, but not commutative
    bool has_constexpr; ///< a last parameter K, given by default or keyword
    int num_params, num_results;
    int16_t param[2 * MAX_TARGETS];
    block body;
    node *result[MAX_TARGETS];
} func;

enum { MAX_VARS = 400, MAX_BUFFERS = 16, MAX_FUNCS = 12, MAX_CONSTS = 2 };

typedef struct program {
    uint64_t seed;
    var_info vars[MAX_VARS];
    int num_vars;
    buffer buffers[MAX_BUFFERS];
    int num_buffers;
    func funcs[MAX_FUNCS];
    int num_funcs;
    int64_t consts[MAX_CONSTS]; ///< constexpr parameters
    int num_consts;
    uint32_t grid[3];
    uint32_t num_programs;
    block body;
    struct chunk *memory; ///< of all nodes
} program;

// --- memory: everything of a program goes at once

program *program_create(uint64_t seed);
program *program_clone(const program *p);
void program_destroy(program *p);
void *program_alloc(program *p, size_t bytes);

// --- building

node *new_node(program *p, node_kind kind, type t);
node *node_clone(program *p, const node *n);
node *new_unary(program *p, op o, node *a);
/// a o b; NULL if the types do not go together.
node *new_binary(program *p, op o, node *a, node *b);
node *new_int(program *p, int64_t v);
node *new_float(program *p, double v);
node *new_var(program *p, int id);
/// A tile (or scalar) of type t all of one value: an integer, or that number as a float.
node *new_full(program *p, type t, double v);
node *new_cast(program *p, node *a, elem to);
stmt *new_stmt(program *p, stmt_kind kind);
void block_add(program *p, block *b, stmt *s);
int add_var(program *p, type t, var_role role);

// --- types

type scalar_type(elem t);
type with_elem(type t, elem e);
bool same_type(type a, type b);
bool same_shape(type a, type b);
uint32_t numel(type t);
/// The common shape; false if there is none.
bool broadcast_shapes(type a, type b, type *out);
/// The type in which `a o b` is computed (T_NONE: refused); literals are weak.
elem promote(op o, elem a, bool weak_a, elem b, bool weak_b);
/// The type of the result.
elem result_elem(op o, elem computed);
/// Literals are strong in comparisons, maximum and minimum.
bool literals_are_strong(op o);
bool is_weak(const program *p, const node *n);

/// The largest divisor of `value`, a power of two up to `most`, or 1.
unsigned true_hint(uint64_t value, unsigned most);

// --- walking

typedef void node_fn(node **n, void *ctx);
/// Calls fn on every expression of the program, parents first.
void walk_nodes(program *p, node_fn *fn, void *ctx);
typedef void block_fn(block *b, void *ctx);
/// Calls fn on every block, outer ones first.
void walk_blocks(program *p, block_fn *fn, void *ctx);
/// The function of a reduction or scan that an expression is part of, or NULL.
func *combine_of(program *p, const node *n);

#endif
