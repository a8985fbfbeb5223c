// What tests read and set of the fake driver.
#ifndef TILE_TESTS_FAKE_CUDA_H
#define TILE_TESTS_FAKE_CUDA_H

typedef struct fake_state {
    int version;
    long calls, launches, loads; ///< since the start
    const char *last_call;
    long fail_at;       ///< calls == fail_at fails; 0: none
    int fail_with;      ///< the CUresult it gives
    int fail_is_sticky; ///< every later call fails as well
    int sticky;
    int large_clusters; ///< more than 8 blocks are allowed
    void *capturing;    ///< the stream that is being captured into a graph
    int invalidated;    ///< its capture has been ended by a forbidden call
    void *stream;       ///< of the last launch
    void **params;      ///< the same
    long contexts, buffers, streams, events, libraries; ///< alive
    unsigned grid[3], block, shared;                    ///< of the last launch
} fake_state;

/// Found with dlsym in the library that $TILE_LIBCUDA names.
fake_state *fake_get_state(void);

#endif
