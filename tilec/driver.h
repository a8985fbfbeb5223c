// Entry of the command-line compiler.
#ifndef TILE_TILEC_DRIVER_H
#define TILE_TILEC_DRIVER_H

/// Runs tilec with a command line. Returns the exit status: 0, 1 after errors in the input, 2 for a
/// wrong option.
__attribute__((visibility("default"))) int tile_compiler_main(int argc, char **argv);

#endif
