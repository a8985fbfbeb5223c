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
    int cooperative;    ///< the last cuLaunchKernelEx was that
    int large_clusters; ///< more than 8 blocks are allowed
    int refuse_loads;   ///< so many loads fail
    void *capturing;    ///< the stream that is being captured into a graph
    int invalidated;    ///< its capture has been ended by a forbidden call
    void *stream;       ///< of the last launch
    void **params;      ///< the same
    int num_values;     ///< parameters whose values a launch is to leave in `values`
    unsigned long long values[16];
    int devices, sm[2];                                 ///< how many, and what each is: 90
    int loaded_ptx;                                     ///< the last image loaded was PTX
    long contexts, buffers, streams, events, libraries; ///< alive
    unsigned grid[3], block, shared;                    ///< of the last launch
} fake_state;

/// Found with dlsym in the library that $TILE_LIBCUDA names.
fake_state *fake_get_state(void);

#endif
