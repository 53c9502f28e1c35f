#include <algorithm>

#include "kernels/device/transfer.h"

namespace mlafuzz::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerBuffer = 64;
// Of large buffers: enough in flight for the bus, and for every multiprocessor.
constexpr unsigned kMostBlocksPerBuffer = 528;
constexpr std::uint64_t kWord = 16;

// The pattern's eight bytes at a multiple of eight in a slot.
__device__ unsigned long long PatternAt(std::uint64_t offset) {
  unsigned long long x = offset / 8 + 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

__device__ unsigned char PatternByte(std::uint64_t offset) {
  return static_cast<unsigned char>(PatternAt(offset & ~std::uint64_t{7}) >>
                                    8 * (offset & 7));
}

__device__ ulonglong2 PatternWord(std::uint64_t offset) {
  return {PatternAt(offset), PatternAt(offset + 8)};
}

__device__ std::uint64_t ThisThread() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t AllThreads() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

__device__ std::uint64_t Offset(const char* slot, const char* at) {
  return static_cast<std::uint64_t>(at - slot);
}

// By 16-byte words of the slot; a word that is partly buffer goes by bytes.
__global__ void CopyInKernel(Placements placements) {
  const Placement& p = placements.buffers[blockIdx.y];
  const std::uint64_t begin = Offset(p.slot, p.device);
  const std::uint64_t end = begin + p.size;
  const std::uint64_t stale_begin = Offset(p.slot, p.stale_begin);
  const std::uint64_t stale_end = Offset(p.slot, p.stale_end);
  std::uint64_t low = begin;
  std::uint64_t high = end;
  if (stale_begin < stale_end) {
    low = min(low, stale_begin);
    high = max(high, stale_end);
  }
  low = low / kWord * kWord;
  for (std::uint64_t at = low + ThisThread() * kWord; at < high;
       at += AllThreads() * kWord) {
    char* const to = p.slot + at;
    if (at >= begin && at + kWord <= end) {
      if (p.copied) {
        *reinterpret_cast<ulonglong2*>(to) =
            *reinterpret_cast<const ulonglong2*>(p.pinned + (at - begin));
      }
      continue;
    }
    if (at + kWord <= begin || at >= end) {
      *reinterpret_cast<ulonglong2*>(to) = PatternWord(at);
      continue;
    }
    for (std::uint64_t i = at; i < at + kWord; ++i) {
      if (i < begin || i >= end) {
        p.slot[i] = static_cast<char>(PatternByte(i));
      } else if (p.copied) {
        p.slot[i] = p.pinned[i - begin];
      }
    }
  }
}

__device__ void Note(Damage* damage, int* damaged, std::uint64_t at) {
  atomicMin(&damage->first, static_cast<unsigned long long>(at));
  atomicMax(&damage->last, static_cast<unsigned long long>(at));
  atomicAdd(&damage->count, 1ull);
  *damaged = 1;
}

__global__ void CopyOutKernel(Placements placements, Damage* damages,
                              int* damaged, std::uint64_t near) {
  const Placement& p = placements.buffers[blockIdx.y];
  Damage* const damage = damages + blockIdx.y;
  const std::uint64_t begin = Offset(p.slot, p.device);
  const std::uint64_t end = begin + p.size;
  const std::uint64_t low = begin > near ? (begin - near) / kWord * kWord : 0;
  const std::uint64_t high =
      p.slot_size - end > near ? end + near : p.slot_size;
  for (std::uint64_t at = low + ThisThread() * kWord; at < high;
       at += AllThreads() * kWord) {
    const char* const from = p.slot + at;
    if (at >= begin && at + kWord <= end) {
      if (p.copied) {
        *reinterpret_cast<ulonglong2*>(p.pinned + (at - begin)) =
            *reinterpret_cast<const ulonglong2*>(from);
      }
      continue;
    }
    if (at + kWord <= begin || at >= end) {
      const ulonglong2 word = *reinterpret_cast<const ulonglong2*>(from);
      const ulonglong2 pattern = PatternWord(at);
      if (word.x == pattern.x && word.y == pattern.y) continue;
    }
    for (std::uint64_t i = at; i < at + kWord; ++i) {
      if (i >= begin && i < end) {
        if (p.copied) p.pinned[i - begin] = p.slot[i];
      } else if (static_cast<unsigned char>(p.slot[i]) != PatternByte(i)) {
        Note(damage, damaged, i);
      }
    }
  }
}

__global__ void FillPatternKernel(char* slot, std::uint64_t begin,
                                  std::uint64_t end) {
  for (std::uint64_t at = begin + ThisThread(); at < end; at += AllThreads()) {
    slot[at] = static_cast<char>(PatternByte(at));
  }
}

__global__ void WaitKernel(unsigned long long nanoseconds) {
  unsigned long long start;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

// Integer and fp32 multiply-adds whose results are exact on any machine.
__host__ __device__ std::uint32_t ProbeWord(std::uint32_t word) {
  const float small = static_cast<float>(word & 0x7ffu);
  const float exact = small * small + static_cast<float>(word >> 20);
  return (word ^ 0x5bd1e995u) * 0x9e3779b1u + static_cast<std::uint32_t>(exact);
}

__global__ void ProbeKernel(const std::uint32_t* in, std::uint32_t* out) {
  __shared__ std::uint32_t sums[kThreads];
  std::uint32_t sum = 0;
  for (unsigned i = threadIdx.x; i < kProbeWords; i += kThreads) {
    sum += ProbeWord(in[i]) * (i | 1u);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = sums[0];
}

}  // namespace

namespace {

// As many as the largest buffer has work for.
unsigned BlocksFor(const Placements& placements) {
  std::uint64_t largest = 0;
  for (int i = 0; i < placements.count; ++i) {
    if (placements.buffers[i].copied) {
      largest = std::max(largest, placements.buffers[i].size);
    }
  }
  // Sixteen words a thread before there are more blocks than of a small call.
  const std::uint64_t blocks = largest / (std::uint64_t{kThreads} * kWord * 16);
  return static_cast<unsigned>(std::clamp(blocks,
                                          std::uint64_t{kBlocksPerBuffer},
                                          std::uint64_t{kMostBlocksPerBuffer}));
}

}  // namespace

cudaError_t CopyIn(const Placements& placements, cudaStream_t stream) {
  if (placements.count == 0) return cudaSuccess;
  CopyInKernel<<<dim3(BlocksFor(placements),
                      static_cast<unsigned>(placements.count)),
                 kThreads, 0, stream>>>(placements);
  return cudaGetLastError();
}

cudaError_t CopyOut(const Placements& placements, Damage* damage, int* damaged,
                    std::uint64_t near, cudaStream_t stream) {
  if (placements.count == 0) return cudaSuccess;
  CopyOutKernel<<<dim3(BlocksFor(placements),
                       static_cast<unsigned>(placements.count)),
                  kThreads, 0, stream>>>(placements, damage, damaged, near);
  return cudaGetLastError();
}

cudaError_t FillPattern(char* slot, char* begin, char* end,
                        cudaStream_t stream) {
  FillPatternKernel<<<kBlocksPerBuffer, kThreads, 0, stream>>>(
      slot, static_cast<std::uint64_t>(begin - slot),
      static_cast<std::uint64_t>(end - slot));
  return cudaGetLastError();
}

cudaError_t Wait(unsigned microseconds, cudaStream_t stream) {
  WaitKernel<<<1, 1, 0, stream>>>(microseconds * 1000ull);
  return cudaGetLastError();
}

cudaError_t Probe(const std::uint32_t* in, std::uint32_t* out,
                  cudaStream_t stream) {
  ProbeKernel<<<1, kThreads, 0, stream>>>(in, out);
  return cudaGetLastError();
}

std::uint32_t ProbeExpected(const std::uint32_t* in) {
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < kProbeWords; ++i) {
    sum += ProbeWord(in[i]) * (i | 1u);
  }
  return sum;
}

}  // namespace mlafuzz::device
