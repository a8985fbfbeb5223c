// The names of one function during lowering. A binding never changes once made: assigning a name
// puts another binding in its slot, so the state of all names at a point is an array of pointers
// that is cheap to save and compare. Branches and loops are lowered by saving the state, lowering
// a body, and looking at which slots have changed (lower_control.c, lower_loop.c).
#ifndef TILE_FRONTEND_SCOPE_H
#define TILE_FRONTEND_SCOPE_H

#include "frontend/lower.h"
#include "frontend/program.h"
#include "support/names.h"

typedef enum binding_state {
    BINDING_VALUE,
    BINDING_PARTIAL,  ///< assigned on some paths only: an error if used
    BINDING_LOOP_VAR, ///< the variable of a loop that is over: an error if used
} binding_state;

typedef struct binding {
    binding_state state;
    value value;
    src_range where; ///< of the assignment
} binding;

typedef struct scope {
    arena *arena;
    const fe_module *module; ///< where names that are not local are looked up
    uint32_t until;          ///< of those, only what stands before this place in the file; 0: all
    sv *names;
    name_map slot_of;      ///< by name
    const binding **slots; ///< NULL: not bound
    bool *keeps_constexpr; ///< declared by a bare `name: constexpr`
    uint32_t len, cap;
} scope;

/// The bindings of a scope at some point. Slots made later count as not bound.
typedef struct scope_state {
    const binding **slots;
    uint32_t len;
} scope_state;

/// Names that the source cannot spell, for values that ride along with the variables.
#define SCOPE_RESULT SV("$result")     ///< what the function has returned
#define SCOPE_RETURNED SV("$returned") ///< i1: whether it has, or the iteration has ended
#define SCOPE_VALUE SV("$value")       ///< of the conditional expression being lowered

void scope_init(scope *s, arena *a, const fe_module *m);
/// The slot of a name, made if it has none.
uint32_t scope_slot(scope *s, sv name);
/// NULL if the name is not bound.
const binding *scope_find(const scope *s, sv name);
void scope_bind(scope *s, uint32_t slot, binding_state state, value v, src_range where);
void scope_set(scope *s, sv name, value v, src_range where);
void scope_remove(scope *s, sv name);
scope_state scope_save(const scope *s);
void scope_restore(scope *s, scope_state state);
static inline const binding *scope_state_get(const scope_state *s, uint32_t slot) {
    return slot < s->len ? s->slots[slot] : NULL;
}

/// A function being inlined; the outermost one is the kernel.
typedef struct call_frame {
    struct call_frame *parent;
    const ast_func *func;
    const fe_module *module;
    src_range call;       ///< where it is called; SRC_NONE for the kernel
    src_range user_range; ///< of the call in the user's text that led into the library, if in it
    unsigned depth;
    unsigned regions;       ///< run-time branches that are open
    unsigned runtime_loops; ///< and loops
    unsigned static_loops;
    unsigned static_regions; ///< `regions` where the outermost static loop began
    bool at_compile_time;    ///< a constexpr_function: all in it is computed now
    bool is_tail;            ///< the statements being lowered are the last that the function does
    bool has_failed;         ///< of the library: an assertion failed, the rest makes no sense
} call_frame;

/// How a block of statements ends.
typedef enum flow {
    FLOW_NEXT,     ///< goes on to what follows
    FLOW_MAYBE,    ///< has ended, in one of the two ways below, if SCOPE_RETURNED is true
    FLOW_RETURN,   ///< has returned
    FLOW_CONTINUE, ///< has ended this iteration of the loop; names live on
} flow;
static inline bool flow_has_ended(flow how) { return how == FLOW_RETURN || how == FLOW_CONTINUE; }

// --- lower_stmt.c
flow lower_block(lowering *lo, ast_stmt *const *stmts, uint32_t n);
/// What follows statements that ended in `before`: skipped at run time where they have ended.
flow lower_rest(lowering *lo, flow before, ast_stmt *const *stmts, uint32_t n);
/// Assigns to a name or a tuple of names. A number becomes a run-time scalar unless
/// keeps_constexpr.
void lower_assign(lowering *lo, const ast_expr *target, value v, bool keeps_constexpr);
void lower_assign_name(lowering *lo, sv name, src_range at, value v, bool keeps_constexpr);

// --- lower_control.c: a choice made at run time
typedef struct branch {
    ir_block *block;
    scope_state end;
    flow flow;
} branch;
typedef struct fork {
    ir_value *cond;
    src_range range;
    ir_builder before;
    scope_state start;
    bool by_select;     ///< inside a combine region: both arms run, and select picks
    bool ends_function; ///< no name is read after it; set before fork_join
    bool in_loop;       ///< what ends an arm is `continue`: `return` is refused there
    branch arms[2];
} fork;
void fork_begin(lowering *lo, fork *f, ir_value *cond, src_range range);
/// Lowering goes on in an arm: at its beginning, or again where fork_leave left it.
void fork_enter(lowering *lo, fork *f, unsigned arm);
void fork_leave(lowering *lo, fork *f, unsigned arm, flow how);
/// Makes the `if` op and merges the names of both arms.
flow fork_join(lowering *lo, fork *f);
/// An if statement. *took_rest: the statements that follow it were lowered inside an arm.
flow lower_if(lowering *lo, const ast_stmt *s, ast_stmt *const *rest, uint32_t n, bool *took_rest);

// --- lower_loop.c
flow lower_for(lowering *lo, const ast_stmt *s);
flow lower_while(lowering *lo, const ast_stmt *s);

// --- leaves.c: values as trees whose leaves are run-time values
typedef ir_value *leaf_fn(void *ctx, ir_value *leaf);
/// A copy of v with every run-time value in it replaced by what fn gives for it.
value value_map_leaves(arena *a, value v, leaf_fn *fn, void *ctx);
/// The same value for all purposes: what a name can be seen to have kept.
bool value_same(const value *a, const value *b);
/// Two values whose parts go together one by one, whatever these are.
bool value_same_form(const value *a, const value *b);
/// Whether an integer known in a block pointer or descriptor (in v, or in a tuple v) is another one
/// in `now`; and v with all such made run-time values.
bool block_has_changed(const value *v, const value *now);
value block_widen_changed(lowering *lo, const value *v, const value *now);
/// Whether v is, or has in it, a value at run time.
bool value_has_run_time(const value *v);
/// Whether a number that is known now is in v, where a run-time one could be.
bool value_has_numbers(const value *v);
/// v with such numbers turned into run-time scalars.
value value_materialize_numbers(lowering *lo, value v, src_range range);
/// Reports a tuple that is too large or nested too deeply; true if v is neither.
bool value_check_size(lowering *lo, const value *v, src_range range);
/// A run-time value of the type, of no meaning: for paths on which nothing reads it.
ir_value *lower_dummy(lowering *lo, ir_type type);

// --- lower.c
/// Where to point at: the range itself, or inside the standard library the user's call of it.
src_range lower_place(const lowering *lo, src_range range);
/// One step deeper, or an error; to be matched by `lo->depth--` in either case.
bool lower_descend(lowering *lo, src_range range);
/// One region deeper in the IR; reports when they are nested too deeply. Matched by lo->regions--.
void lower_open_region(lowering *lo, src_range range);
/// Counts a statement or call; false, once after an error, when the kernel has become too large.
bool lower_count(lowering *lo, src_range range);
/// Ends the lowering: whatever is still to be lowered is skipped in silence.
void lower_stop(lowering *lo);
bool lower_is_stopped(const lowering *lo);

// --- lower_call.c
/// A parameter's default, which sees the names of the function's file above it.
value lower_default(lowering *lo, const fe_module *m, const ast_expr *e);
/// Inlines a function: binds its parameters and lowers its body.
value lower_inline(lowering *lo, const value *callee, const call_args *args);

// --- lower_name.c
/// What a name stands for: a variable, a top-level name of the module, or a built-in.
value lower_name(lowering *lo, sv name, src_range range);
/// A member of a Triton module, by the module's canonical name.
value lower_module_member(lowering *lo, sv module, sv name, src_range range);

#endif
