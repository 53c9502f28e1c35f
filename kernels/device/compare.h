#ifndef MLAFUZZ_KERNELS_DEVICE_COMPARE_H_
#define MLAFUZZ_KERNELS_DEVICE_COMPARE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace mlafuzz::device {

// Bytes in which two stretches of device memory differ.
struct Differences {
  unsigned long long count = 0;
  unsigned long long first = ~0ull;  // of the stretch
};

// Adds to *differences, in device memory, where [begin, end) of `a` and `b`
// differ; `first` counts from byte 0 of `a`. `a` and `b` at multiples of 16.
// Asynchronous.
cudaError_t Compare(const char* a, const char* b, std::uint64_t begin,
                    std::uint64_t end, Differences* differences,
                    cudaStream_t stream);

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_COMPARE_H_
