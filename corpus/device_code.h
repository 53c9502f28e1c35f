#ifndef MLAFUZZ_CORPUS_DEVICE_CODE_H_
#define MLAFUZZ_CORPUS_DEVICE_CODE_H_

// In front of what fills pools on a GPU, too, from the same source. Besides,
// what is constexpr is called there (nvcc's --expt-relaxed-constexpr).
#ifdef __CUDACC__
#define MLAFUZZ_CORPUS_CODE __host__ __device__
#else
#define MLAFUZZ_CORPUS_CODE
#endif

#endif  // MLAFUZZ_CORPUS_DEVICE_CODE_H_
