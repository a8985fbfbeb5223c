// The switch itself, in assembler for x86-64 and aarch64. It pushes the registers that a function
// must preserve, exchanges stack pointers, and pops the other side's. A new fiber starts from a
// hand-made frame of the same shape whose return address is a small stub that calls its entry.
// The jump in place of a return keeps the processor's return prediction from being misled.
#include "codegen/host_fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// gcc says it by macros, clang by features.
#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WITH_ASAN 1
#else
#define WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define WITH_TSAN 1
#else
#define WITH_TSAN 0
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WITH_VALGRIND 1
#endif
#endif
#ifndef WITH_VALGRIND
#define WITH_VALGRIND 0
#endif

/// Saves this side's registers and stack pointer, and continues on the other side.
__attribute__((visibility("hidden"))) void host_fiber_switch(void **save, void *load);
/// Where a new fiber begins: calls the entry that host_fiber_prepare left in its frame.
__attribute__((visibility("hidden"))) void host_fiber_start(void);

#if defined(__x86_64__)
enum { FRAME_WORDS = 9, FRAME_ENTRY = 4, FRAME_ARGUMENT = 3, FRAME_RETURN = 6 };
// Frame, from the stack pointer up: r15 r14 r13 r12 rbx rbp, return address, and two
// words so that the entry finds the stack aligned.
__asm__(".text\n"
        ".p2align 4\n"
        ".globl host_fiber_switch\n"
        ".hidden host_fiber_switch\n"
        ".type host_fiber_switch, @function\n"
        "host_fiber_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    pop %rcx\n"
        "    jmp *%rcx\n"
        ".size host_fiber_switch, . - host_fiber_switch\n"
        ".globl host_fiber_start\n"
        ".hidden host_fiber_start\n"
        ".type host_fiber_start, @function\n"
        "host_fiber_start:\n"
        "    mov %r12, %rdi\n"
        "    xor %ebp, %ebp\n"
        "    call *%rbx\n"
        "    ud2\n"
        ".size host_fiber_start, . - host_fiber_start\n");
#elif defined(__aarch64__)
enum { FRAME_WORDS = 20, FRAME_ENTRY = 0, FRAME_ARGUMENT = 1, FRAME_RETURN = 11 };
// Frame, from the stack pointer up: x19 .. x28, x29, x30, d8 .. d15.
__asm__(".text\n"
        ".p2align 4\n"
        ".globl host_fiber_switch\n"
        ".hidden host_fiber_switch\n"
        ".type host_fiber_switch, %function\n"
        "host_fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    br x30\n"
        ".size host_fiber_switch, . - host_fiber_switch\n"
        ".globl host_fiber_start\n"
        ".hidden host_fiber_start\n"
        ".type host_fiber_start, %function\n"
        "host_fiber_start:\n"
        "    mov x0, x20\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    blr x19\n"
        "    brk #1\n"
        ".size host_fiber_start, . - host_fiber_start\n");
#else
#error "the cpu device needs a fiber switch for this architecture"
#endif

static size_t page_bytes(void) {
    long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? (size_t)n : 4096;
}

#if WITH_ASAN
static inline void *stack_bottom(const host_fiber *f) { return f->mapping + page_bytes(); }
static inline size_t stack_bytes(const host_fiber *f) { return f->mapping_bytes - page_bytes(); }
#endif

bool host_fiber_create(host_fiber *f, size_t least_bytes) {
    size_t page = page_bytes();
    size_t bytes = (least_bytes + 2 * page - 1) / page * page;
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    if (mprotect(mapping, page, PROT_NONE) != 0) {
        munmap(mapping, bytes);
        return false;
    }
    *f = (host_fiber){.mapping = mapping, .mapping_bytes = bytes};
#if WITH_TSAN
    f->sanitizer = __tsan_create_fiber(0);
#endif
#if WITH_VALGRIND
    f->valgrind_id = VALGRIND_STACK_REGISTER(mapping + page, mapping + bytes);
#endif
    return true;
}

void host_fiber_destroy(host_fiber *f) {
    if (!f->mapping)
        return;
#if WITH_VALGRIND
    VALGRIND_STACK_DEREGISTER(f->valgrind_id);
#endif
#if WITH_TSAN
    __tsan_destroy_fiber(f->sanitizer);
#endif
#if WITH_ASAN
    ASAN_UNPOISON_MEMORY_REGION(stack_bottom(f), stack_bytes(f));
#endif
    munmap(f->mapping, f->mapping_bytes);
    *f = (host_fiber){0};
}

void host_fiber_prepare(host_fiber *f, void (*entry)(void *), void *argument) {
    uintptr_t top = (uintptr_t)(f->mapping + f->mapping_bytes) & ~(uintptr_t)63;
    void **frame = (void **)top - FRAME_WORDS;
#if WITH_ASAN
    // Frames of a fiber that was dropped half-way still hold their red zones. They reach no
    // lower than where it stopped.
    if (f->stack_pointer)
        ASAN_UNPOISON_MEMORY_REGION(f->stack_pointer, (size_t)(top - (uintptr_t)f->stack_pointer));
    f->sanitizer = NULL;
#endif
    memset(frame, 0, FRAME_WORDS * sizeof(*frame));
    frame[FRAME_ENTRY] = (void *)(uintptr_t)entry;
    frame[FRAME_ARGUMENT] = argument;
    frame[FRAME_RETURN] = (void *)(uintptr_t)host_fiber_start;
    f->stack_pointer = frame;
}

void host_fiber_resume(host_fiber_home *home, host_fiber *f) {
#if WITH_ASAN
    __sanitizer_start_switch_fiber(&home->sanitizer, stack_bottom(f), stack_bytes(f));
#elif WITH_TSAN
    home->sanitizer = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->sanitizer, 0);
#endif
    host_fiber_switch(&home->stack_pointer, f->stack_pointer);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(home->sanitizer, NULL, NULL);
#endif
}

// Goes home. `last` tells AddressSanitizer to give back the fiber's fake stack.
static void leave(host_fiber_home *home, host_fiber *f, bool last) {
#if WITH_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &f->sanitizer, home->stack_bottom,
                                   home->stack_bytes);
#elif WITH_TSAN
    __tsan_switch_to_fiber(home->sanitizer, 0);
#endif
    (void)last;
    host_fiber_switch(&f->stack_pointer, home->stack_pointer);
}

void host_fiber_arrive(host_fiber_home *home, host_fiber *f) {
    (void)home, (void)f;
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(f->sanitizer, &home->stack_bottom, &home->stack_bytes);
#endif
}

void host_fiber_suspend(host_fiber_home *home, host_fiber *f) {
    leave(home, f, false);
    host_fiber_arrive(home, f);
}

void host_fiber_exit(host_fiber_home *home, host_fiber *f) {
    leave(home, f, true);
    __builtin_unreachable(); // it is prepared again before it is resumed
}
