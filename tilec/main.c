// The compiler as a command. All of it is in libtile (tilec/driver.c), so that tilec is small where
// the library is there, and one file where it is not.
#include "tilec/driver.h"

int main(int argc, char **argv) { return tile_compiler_main(argc, argv); }
