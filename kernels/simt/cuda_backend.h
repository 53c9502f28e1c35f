// launch() on a GPU; included by simt.h under nvcc.
#ifndef MLAFUZZ_KERNELS_SIMT_CUDA_BACKEND_H_
#define MLAFUZZ_KERNELS_SIMT_CUDA_BACKEND_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/simt/launch_types.h"

#define SIMT_BACKEND cuda

// Declares `T* name`, the dynamic shared memory of the block.
#define SIMT_DYN_SHARED(T, name)                                        \
  extern __shared__ __align__(128) unsigned char simt_dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(simt_dynamic_shared)

namespace mlafuzz::simt {
inline namespace cuda {

using Stream = cudaStream_t;

struct Config {
  dim3 grid = dim3();
  dim3 block = dim3();
  std::size_t dyn_smem = 0;  // bytes
  Stream stream = nullptr;
  Schedule schedule = {};        // host backend only
  std::uint64_t sync_limit = 0;  // host backend only
};

inline LaunchResult ResultOf(cudaError_t error) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // or the next call would return it again
  FaultKind kind = error == cudaErrorInvalidConfiguration ||
                           error == cudaErrorInvalidValue ||
                           error == cudaErrorLaunchOutOfResources
                       ? FaultKind::kBadConfiguration
                       : FaultKind::kBackendError;
  return {kind, std::string(FaultName(kind)) + ": " + cudaGetErrorName(error) +
                    ", " + cudaGetErrorString(error)};
}

// Asynchronous: the result tells whether the launch was accepted, what the
// kernel does wrong comes out of synchronize().
template <class... Params, class... Args>
LaunchResult launch(const Config& config, void (*kernel)(Params...),
                    Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args));
  constexpr std::size_t kNeedsNoPermission = 48 << 10;
  if (config.dyn_smem > kNeedsNoPermission) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(config.dyn_smem));
    if (error != cudaSuccess) return ResultOf(error);
  }
  cudaLaunchConfig_t launch_config{};
  launch_config.gridDim = config.grid;
  launch_config.blockDim = config.block;
  launch_config.dynamicSmemBytes = config.dyn_smem;
  launch_config.stream = config.stream;
  return ResultOf(
      cudaLaunchKernelEx(&launch_config, kernel,
                         static_cast<Params>(std::forward<Args>(args))...));
}

// Holds lanes back, for up to 4 us: whole warps or single lanes, which ones and
// for how long follows from `timing` (0: none), the point and where they are.
// Between accesses that a barrier should order, it shows where none does.
__device__ inline void Perturb(std::uint64_t timing, unsigned point) {
  if (timing == 0) return;
  const bool by_lane = (timing & 1) != 0;
  std::uint64_t x = timing + (std::uint64_t{blockIdx.x} << 20) + (point << 12) +
                    (by_lane ? threadIdx.x : threadIdx.x / 32);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  if ((x & 3) == 0) __nanosleep(static_cast<unsigned>(x >> 8 & 0xfff));
}

inline LaunchResult synchronize(Stream stream = nullptr) {
  return ResultOf(cudaStreamSynchronize(stream));
}

}  // namespace cuda
}  // namespace mlafuzz::simt

#endif  // MLAFUZZ_KERNELS_SIMT_CUDA_BACKEND_H_
