// Random programs from seeds: valid by construction where that is easy, and otherwise by judging
// and repairing them (see evaluate.h) until nothing in them depends on how they are compiled.
#ifndef TILE_RANDOM_GENERATE_H
#define TILE_RANDOM_GENERATE_H

#include "tree.h"

/// The program of a seed: always the same one.
program *generate(uint64_t seed);

#endif
