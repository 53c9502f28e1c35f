#include "kernels/device/copy_rates.h"

#include <algorithm>
#include <cstddef>

namespace mlafuzz::device {
namespace {

constexpr int kRounds = 5;
constexpr std::size_t kDeviceBytes = std::size_t{1} << 30;
constexpr std::size_t kHostBytes = std::size_t{256} << 20;

// The best of kRounds, in bytes a second; `times` each byte counts.
cudaError_t Rate(void* to, const void* from, std::size_t bytes, double times,
                 cudaEvent_t begin, cudaEvent_t end, cudaStream_t stream,
                 std::uint64_t* rate) {
  *rate = 0;
  // One more, so that pages are there.
  for (int round = 0; round <= kRounds; ++round) {
    cudaError_t error = cudaEventRecord(begin, stream);
    if (error == cudaSuccess) {
      error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    }
    if (error == cudaSuccess) error = cudaEventRecord(end, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    float milliseconds = 0;
    if (error == cudaSuccess) {
      error = cudaEventElapsedTime(&milliseconds, begin, end);
    }
    if (error != cudaSuccess) return error;
    if (round == 0 || milliseconds <= 0) continue;
    *rate = std::max(*rate, static_cast<std::uint64_t>(
                                times * static_cast<double>(bytes) * 1e3 /
                                static_cast<double>(milliseconds)));
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t MeasureCopyRates(CopyRates* rates, cudaStream_t stream) {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaError_t error = cudaMemGetInfo(&free, &total);
  const std::size_t device_bytes = std::min(kDeviceBytes, free / 8);
  void* a = nullptr;
  void* b = nullptr;
  void* host = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  const std::size_t host_bytes = std::min(kHostBytes, device_bytes);
  if (error == cudaSuccess) error = cudaMalloc(&a, device_bytes);
  if (error == cudaSuccess) error = cudaMalloc(&b, device_bytes);
  if (error == cudaSuccess) {
    error = cudaHostAlloc(&host, host_bytes, cudaHostAllocDefault);
  }
  if (error == cudaSuccess) error = cudaEventCreate(&begin);
  if (error == cudaSuccess) error = cudaEventCreate(&end);
  if (error == cudaSuccess)
    error = cudaMemsetAsync(a, 0x5a, device_bytes, stream);
  if (error == cudaSuccess) {
    error = Rate(b, a, device_bytes, 2, begin, end, stream, &rates->device);
  }
  if (error == cudaSuccess) {
    error = Rate(host, a, host_bytes, 1, begin, end, stream, &rates->out);
  }
  if (error == cudaSuccess) {
    error = Rate(a, host, host_bytes, 1, begin, end, stream, &rates->in);
  }
  (void)cudaFree(a);
  (void)cudaFree(b);
  (void)cudaFreeHost(host);
  if (begin != nullptr) (void)cudaEventDestroy(begin);
  if (end != nullptr) (void)cudaEventDestroy(end);
  return error;
}

}  // namespace mlafuzz::device
