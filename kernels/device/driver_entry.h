#ifndef MLAFUZZ_KERNELS_DEVICE_DRIVER_ENTRY_H_
#define MLAFUZZ_KERNELS_DEVICE_DRIVER_ENTRY_H_

#include <cuda_runtime_api.h>

namespace mlafuzz::device {

// Looks up a function of the driver at run time, in its version of CUDA 11.2:
// nothing links against the driver. False: there is none.
template <typename F>
bool FindDriverFunction(const char* name, F* function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion(name, &found, 11020, cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  *function = reinterpret_cast<F>(found);
  return true;
}

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_DRIVER_ENTRY_H_
