#ifndef MLAFUZZ_KERNELS_DEVICE_TRANSFER_H_
#define MLAFUZZ_KERNELS_DEVICE_TRANSFER_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mlafuzz::device {

// Most buffers of one call: the cache, seven tensors, the scratch.
inline constexpr int kMostBuffers = 12;

// One buffer in its slot. Pinned and device addresses are equal modulo 16.
struct Placement {
  char* pinned = nullptr;  // host memory that the device can reach
  char* device = nullptr;  // [device, device + size)
  std::uint64_t size = 0;  // bytes
  char* slot = nullptr;    // mapped: [slot, slot + slot_size)
  std::uint64_t slot_size = 0;
  // Bytes of the slot that may not hold the pattern: the last call's buffer.
  char* stale_begin = nullptr;
  char* stale_end = nullptr;
  bool copied = true;  // false: no bytes travel (scratch)
};

struct Placements {
  Placement buffers[kMostBuffers];
  int count = 0;
};

// Changed bytes of a slot's slack, relative to the slot.
struct Damage {
  unsigned long long first;
  unsigned long long last;
  unsigned long long count;
};

// What undamaged entries hold.
inline constexpr Damage kNoDamage = {~0ull, 0, 0};

// Copies buffers from pinned to device memory, and the pattern, a function of
// the place in the slot, over stale bytes around them. Asynchronous.
cudaError_t CopyIn(const Placements& placements, cudaStream_t stream);

// Copies buffers back, and compares the slack up to `near` bytes from them with
// the pattern: damage[i], in device memory, for buffer i; *damaged, pinned, is
// set to 1 if there is any.
cudaError_t CopyOut(const Placements& placements, Damage* damage, int* damaged,
                    std::uint64_t near, cudaStream_t stream);

// The pattern over all of [begin, end) of a slot.
cudaError_t FillPattern(char* slot, char* begin, char* end,
                        cudaStream_t stream);

// Keeps the stream busy for so long, at least.
cudaError_t Wait(unsigned microseconds, cudaStream_t stream);

// A sum of products over 64 KiB that depends on every bit of integer and
// floating-point units used: from `in` (pinned, 16384 words) to `out` (pinned).
cudaError_t Probe(const std::uint32_t* in, std::uint32_t* out,
                  cudaStream_t stream);
// What Probe() must give, computed on the host.
std::uint32_t ProbeExpected(const std::uint32_t* in);

inline constexpr int kProbeWords = 16384;

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_TRANSFER_H_
