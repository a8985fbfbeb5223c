// Fibers: stacks to run on, and a switch between them that costs a few nanoseconds. The cpu device
// runs every warp of a program as one fiber (host_exec.c), because a warp must stop in the middle
// of generated code when it meets a barrier. A switch saves only what the calling convention says
// a call preserves; sanitizers and valgrind are told about every stack and every switch.
#ifndef TILE_CODEGEN_HOST_FIBER_H
#define TILE_CODEGEN_HOST_FIBER_H

#include <stdbool.h>
#include <stddef.h>

/// A stack with a guard page below it, and the place where its fiber stopped. One worker thread
/// owns a fiber and uses it for one program after the other.
typedef struct host_fiber {
    void *stack_pointer; ///< where it stopped; valid while it does not run
    char *mapping;       ///< guard page, then the stack
    size_t mapping_bytes;
    void *sanitizer; ///< AddressSanitizer's fake stack, or ThreadSanitizer's fiber
    unsigned valgrind_id;
} host_fiber;

/// The side that starts and resumes fibers: a worker's own stack.
typedef struct host_fiber_home {
    void *stack_pointer;
    void *sanitizer;
    const void *stack_bottom; ///< of the thread, learned by AddressSanitizer at the first switch
    size_t stack_bytes;
} host_fiber_home;

/// Maps a stack of at least stack_bytes, committed as it is touched. False without memory.
bool host_fiber_create(host_fiber *f, size_t stack_bytes);
/// A zeroed fiber is ignored.
void host_fiber_destroy(host_fiber *f);
/// Makes the next resume call entry(argument) on the fiber's stack, whatever ran there before.
/// entry never returns; it leaves by host_fiber_exit.
void host_fiber_prepare(host_fiber *f, void (*entry)(void *), void *argument);
/// Runs the fiber until it suspends or exits. Called on the home's own stack.
void host_fiber_resume(host_fiber_home *home, host_fiber *f);
/// The first thing entry calls: completes the switch for AddressSanitizer.
void host_fiber_arrive(host_fiber_home *home, host_fiber *f);
/// Goes back to whoever resumed this fiber; returns when it is resumed again.
void host_fiber_suspend(host_fiber_home *home, host_fiber *f);
/// The same for good: the fiber's frames are dropped.
_Noreturn void host_fiber_exit(host_fiber_home *home, host_fiber *f);

#endif
