// Inside the generator. Expressions are made top-down: for a wanted type, one of the productions
// that can give it is picked, and asks for operands in turn. A program uses a few element types and
// shapes only, so that its values meet each other: layouts, conversions and common subexpressions
// are where compilers go wrong.
#ifndef TILE_RANDOM_GEN_H
#define TILE_RANDOM_GEN_H

#include "generate.h"
#include "rng.h"

enum { MAX_POOL = 8, MAX_LIST = 6, MAX_PAIRS = 2 };

/// Two arguments that are one buffer. It is worked on in place, element on element: in all of the
/// program through one tile of pointers, by either name (docs/codegen.md on what is ordered).
typedef struct two_names {
    type type;
    node *pointer[2];
    node *index; ///< see gen_pointer
} two_names;

typedef struct gen {
    program *p;
    rng r;
    int scope[MAX_VARS]; ///< variables that are visible here
    int num_scope;
    int budget;          ///< expressions still to be made
    int loops;           ///< that surround this place
    bool may_continue;   ///< the innermost of them goes on whatever its body leaves out
    int repeats;         ///< about how often this place runs
    bool in_func;        ///< a helper: nothing but its parameters
    type pool[MAX_POOL]; ///< shapes of this program
    int num_pool;
    uint32_t most;       ///< elements in a tile
    elem list[MAX_LIST]; ///< element types of this program
    int num_list;
    uint64_t without; ///< productions that this program does not use
    two_names pairs[MAX_PAIRS];
    int num_pairs;
    int pid; ///< the variable that holds the linear program index, or -1
} gen;

elem gen_elem(gen *g);
type gen_shape(gen *g);
node *gen_expr(gen *g, type t, int depth);
/// A number that fits into t, as a weak literal.
node *gen_literal(gen *g, elem t);
/// v in another shape and type, however that takes.
node *gen_adapt(gen *g, node *v, type t);
/// A call of a combine function over tiles, or NULL.
int gen_combine(gen *g, const elem *types, int count);
/// One that composes the functions a * x + b of integers: a pair, where the order matters.
int gen_ordered_combine(gen *g, elem t);
/// A scan by that function of tiles of type t.
node *gen_scan_by(gen *g, int id, type t, int depth);
/// Ways to make an expression; `without` has a bit for each.
extern const int gen_productions;
// Of generate_scan.c: see productions in generate_expr.c.
node *gen_scan(gen *g, type t, int depth);
node *gen_scan_fold(gen *g, type t, int depth);
node *gen_sort(gen *g, type t, int depth);
node *gen_topk(gen *g, type t, int depth);
node *gen_histogram(gen *g, type t, int depth);
node *gen_gather(gen *g, type t, int depth);
/// A helper with this result (and a second one if two).
int gen_func(gen *g, type result, bool two);
/// Arguments for a call of it.
node *gen_call(gen *g, int func, int depth);
/// Which axis a tile of shape t had before it was reduced away: the wider type, and the axis.
bool gen_widened(gen *g, type t, bool keep_dims, type *wide, int *axis);

/// A buffer of this element type with room for n elements; -1 if there are too many.
int gen_buffer(gen *g, elem t, int role, uint32_t n);
/// A pointer tile of shape t into b. injective: no two elements meet. *index gets an index without
/// the program's own offset, or NULL.
node *gen_pointer(gen *g, int b, type t, bool injective, node **index, int depth);
/// A block of an array in b, as the place of a load or store only: it may hang over the edges.
node *gen_array_block(gen *g, int b, type t, int depth);
/// Adds two buffers that share their memory; false if there is no room.
bool gen_pair(gen *g, two_names *out);
node *gen_mask(gen *g, int b, type t, const node *index, int depth);

#endif
