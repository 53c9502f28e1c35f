#include <algorithm>

#include "kernels/device/compare.h"

namespace mlafuzz::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kWord = 16;
// Enough to keep every multiprocessor's loads in flight.
constexpr std::uint64_t kMostBlocks = 2112;

__device__ void Note(Differences* differences, std::uint64_t at) {
  atomicAdd(&differences->count, 1ull);
  atomicMin(&differences->first, static_cast<unsigned long long>(at));
}

// By 16-byte words; one that is partly outside goes by bytes.
__global__ void CompareKernel(const char* a, const char* b, std::uint64_t begin,
                              std::uint64_t end, Differences* differences) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads * kWord;
  for (std::uint64_t at =
           begin / kWord * kWord +
           (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x) * kWord;
       at < end; at += step) {
    if (at >= begin && at + kWord <= end) {
      const ulonglong2 x = *reinterpret_cast<const ulonglong2*>(a + at);
      const ulonglong2 y = *reinterpret_cast<const ulonglong2*>(b + at);
      if (x.x == y.x && x.y == y.y) continue;
    }
    for (std::uint64_t i = at; i < at + kWord; ++i) {
      if (i >= begin && i < end && a[i] != b[i]) Note(differences, i);
    }
  }
}

}  // namespace

cudaError_t Compare(const char* a, const char* b, std::uint64_t begin,
                    std::uint64_t end, Differences* differences,
                    cudaStream_t stream) {
  if (begin >= end) return cudaSuccess;
  const std::uint64_t blocks =
      (end - begin + 2 * kWord) / (kThreads * kWord) + 1;
  CompareKernel<<<static_cast<unsigned>(std::min(blocks, kMostBlocks)),
                  kThreads, 0, stream>>>(a, b, begin, end, differences);
  return cudaGetLastError();
}

}  // namespace mlafuzz::device
