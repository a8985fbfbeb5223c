// The headers in strict C11.
#include "scale.tile.h"
#include <tile.h>

tile_arg some_argument(void);
tile_arg some_argument(void) { return TILE_CONSTEXPR_INT("BLOCK", 1024); }

#define TILE_KERNELS_IMPLEMENTATION
#include "scale.tile.h"
