// `tilec cache`: what is in the on-disk cache of compiled kernels, and what shall go.
#ifndef TILE_TILEC_CACHE_H
#define TILE_TILEC_CACHE_H

/// The arguments after "cache". Returns the exit status.
int cache_command(int argc, char **argv);

#endif
