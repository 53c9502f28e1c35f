#ifndef MLAFUZZ_KERNELS_DEVICE_COPY_RATES_H_
#define MLAFUZZ_KERNELS_DEVICE_COPY_RATES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace mlafuzz::device {

// What the card's memory was measured to copy, in bytes a second. `device`:
// within its own, bytes read and bytes written both counted; `in` and `out`: to
// it from pinned memory of the host, and back.
struct CopyRates {
  std::uint64_t device = 0;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

// The best of a few copies of 1 GiB within the device (less where there is not
// so much), and of 256 MiB to and from the host. An error of CUDA's: the rates
// are then 0.
cudaError_t MeasureCopyRates(CopyRates* rates, cudaStream_t stream);

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_COPY_RATES_H_
