// The headers in strict C++17.
#include "scale.tile.h"
#include <tile.hpp>

namespace again { // the tables as C++ takes them, beside those of the C file
#define TILE_KERNELS_IMPLEMENTATION
#include "scale.tile.h"
} // namespace again
