#ifndef MLAFUZZ_ORACLE_DEVICE_DEVICE_CODE_H_
#define MLAFUZZ_ORACLE_DEVICE_DEVICE_CODE_H_

// In front of what the oracle does on a GPU, too, from the same source.
#ifdef __CUDACC__
#define MLAFUZZ_ORACLE_CODE __host__ __device__
#else
#define MLAFUZZ_ORACLE_CODE
#endif

#endif  // MLAFUZZ_ORACLE_DEVICE_DEVICE_CODE_H_
