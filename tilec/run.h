// tilec run: a kernel without a host program.
#ifndef TILE_TILEC_RUN_H
#define TILE_TILEC_RUN_H

#include "support/arena.h"

/// `tilec run ...`, with argv[0] being "run". Returns the exit status.
int run_main(arena *a, int argc, char **argv);

#endif
