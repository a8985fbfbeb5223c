// Where LLVM runs: on a thread of its own, inside a guard. Its instruction selection recurses over
// expressions, deeper than the stack of an application's thread may be, so each compilation gets a
// thread with a large one; untouched pages of it cost nothing. On some errors LLVM ends the process;
// its handler of fatal errors brings it back to a frame of ours, on that same thread.
//
// The caller sees none of this: it waits, its locale is the thread's, no signal is delivered there,
// and an arena that runs out of memory there does so once more in the caller.
#include "codegen/llvm_backend.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { STACK_BYTES = 64 << 20 };

typedef enum guard_outcome { FAILED, SUCCEEDED, GAVE_UP, OUT_OF_MEMORY } guard_outcome;

/// One call of llvm_guard.
typedef struct guard {
    arena *arena;
    bool (*fn)(void *);
    void *ctx;
    locale_t locale;
    guard_outcome outcome;
    jmp_buf gave_up; ///< where the thread returns to when LLVM gives up
    char message[512];
} guard;

static _Thread_local guard *current;
static atomic_bool llvm_is_broken; ///< LLVM has given up once: its state cannot be trusted

static void on_fatal_error(const char *reason) {
    guard *g = current;
    if (!g)
        return; // LLVM in use by someone else in this process: it ends as it would have
    atomic_store(&llvm_is_broken, true);
    snprintf(g->message, sizeof(g->message), "%s", reason);
    longjmp(g->gave_up, 1);
}

// What LLVM does when it is loaded, where cmake/llvm_start.ld has put it off; else there is no such list.
typedef void initializer(int argc, char **argv, char **env);
extern initializer *const llvm_start_begin[] __attribute__((weak, visibility("hidden")));
extern initializer *const llvm_start_end[] __attribute__((weak, visibility("hidden")));

static void initialize_once(void) {
    for (initializer *const *f = llvm_start_begin; f != llvm_start_end; f++)
        (*f)(0, NULL, NULL);
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInstallFatalErrorHandler(on_fatal_error);
}

static void *run(void *ctx) {
    guard *g = ctx;
    jmp_buf no_memory, *before = arena_on_out_of_memory(g->arena, &no_memory);
    current = g;
    uselocale(g->locale);
    if (setjmp(no_memory))
        g->outcome = OUT_OF_MEMORY;
    else if (setjmp(g->gave_up))
        g->outcome = GAVE_UP;
    else
        g->outcome = g->fn(g->ctx) ? SUCCEEDED : FAILED;
    arena_on_out_of_memory(g->arena, before);
    return NULL;
}

/// Runs the guard on a thread of its own. False if there cannot be one.
static bool run_on_thread(guard *g) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes))
        return false;
    sigfillset(&all);
    bool started = !pthread_attr_setstacksize(&attributes, STACK_BYTES) &&
                   !pthread_sigmask(SIG_SETMASK, &all, &before);
    if (started) { // the thread has its creator's mask
        started = !pthread_create(&thread, &attributes, run, g);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return started && !pthread_join(thread, NULL);
}

bool llvm_guard(arena *a, diag *d, bool (*fn)(void *), void *ctx) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_once);
    guard g = {.arena = a, .fn = fn, .ctx = ctx, .locale = uselocale((locale_t)0)};
    if (atomic_load(&llvm_is_broken))
        diag_error(d, SRC_NONE, "internal error: LLVM has failed earlier in this process");
    else if (!run_on_thread(&g))
        diag_error(d, SRC_NONE, "cannot start a thread to compile on, of %d MiB of stack",
                   STACK_BYTES >> 20);
    else if (g.outcome == GAVE_UP)
        diag_error(d, SRC_NONE, "internal error: LLVM gave up: %s", g.message);
    else if (g.outcome == OUT_OF_MEMORY)
        arena_out_of_memory(a);
    return g.outcome == SUCCEEDED;
}
