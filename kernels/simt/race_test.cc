// The race detector: no alarm for right kernels, an alarm at the first launch
// for wrong ones, whatever the schedule. This file's kernels are compiled with
// RACE_DETECTOR_COPTS.

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::simt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr unsigned kAll = 0xffffffffu;
constexpr std::uint64_t kSeeds = 400;

// Which barrier of a kernel to leave out.
enum Without { kNothing, kFirst, kSecond };

// A block sum through shuffles, shared memory and barriers, twice over.
template <Without kWithout>
__global__ void BlockSum(int* out) {
  __shared__ int partial[4];
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    int v = static_cast<int>(threadIdx.x) + round;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(kAll, v, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    if (kWithout != kFirst) __syncthreads();
    for (int w = 0; w < 4; ++w) sum += partial[w];
    if (kWithout != kSecond) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <Without kWithout>
__global__ void WarpExchange(int* out) {
  __shared__ int tile[128];
  const unsigned t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    tile[t] = static_cast<int>(t) + round;
    if (kWithout != kFirst) __syncwarp();
    sum += tile[t ^ 31];
    if (kWithout != kSecond) __syncwarp();
  }
  out[t] = sum;
}

// As above in dynamic memory, with half-warp masks and 16-byte accesses.
template <Without kWithout>
__global__ void HalfWarpExchange(int* out) {
  SIMT_DYN_SHARED(uint4, tile);
  const unsigned t = threadIdx.x;
  const unsigned mask = (t & 16) == 0 ? 0x0000ffffu : 0xffff0000u;
  tile[t] = make_uint4(t, t, t, t);
  if (kWithout != kFirst) __syncwarp(mask);
  out[t] = static_cast<int>(tile[t ^ 15].w);
  if (kWithout != kSecond) __syncwarp(mask);
  tile[t] = make_uint4(0, 0, 0, 0);
}

// A counter: set by one lane, then atomics by all, then read by all.
template <Without kWithout>
__global__ void Counter(int* out) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  if (kWithout != kFirst) __syncthreads();
  atomicAdd(&counter, 1);
  atomicMax(&counter, 1);
  if (kWithout != kSecond) __syncthreads();
  out[threadIdx.x] = counter;
}

// A shuffle makes lanes meet, but does not order their memory.
template <Without kWithout>
__global__ void ShuffleIsNoFence(int* out) {
  __shared__ int tile[128];
  tile[threadIdx.x] = 1;
  if (kWithout == kNothing) __syncwarp();
  const int v = __shfl_xor_sync(kAll, 1, 1);
  out[threadIdx.x] = tile[threadIdx.x ^ 1] + v;
}

// Neighbouring bytes of one word are different places.
template <Without kWithout>
__global__ void Bytes(int* out) {
  __shared__ unsigned char bytes[128];
  bytes[threadIdx.x] = 1;
  if (kWithout == kFirst) bytes[(threadIdx.x + 1) % 128] = 1;
  out[threadIdx.x] = bytes[threadIdx.x];
}

// Lanes clear an array in a loop that looks like memset, then copy structs:
// clang must not turn either into a library call.
template <Without kWithout>
__global__ void ClearAndCopy(int* out) {
  __shared__ uint4 tile[128];
  __shared__ __align__(16) unsigned char bytes[2048];
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 16; ++i) bytes[t * 16 + i] = 0;
  tile[t] = make_uint4(t, t, t, t);
  if (kWithout != kFirst) __syncthreads();
  const uint4 other = tile[t ^ 64];
  out[t] = static_cast<int>(other.x + bytes[(t ^ 64) * 16]);
  if (kWithout != kSecond) __syncthreads();
  tile[t] = reinterpret_cast<const uint4*>(bytes)[t];
}

// As above, the race being in the array that is cleared.
template <Without kWithout>
__global__ void Clear(int* out) {
  __shared__ unsigned char bytes[2048];
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 16; ++i) bytes[t * 16 + i] = 0;
  if (kWithout != kFirst) __syncthreads();
  out[t] = bytes[(t ^ 64) * 16];
}

// All lanes read what one has written; nobody writes again.
__global__ void Broadcast(int* out) {
  __shared__ int value;
  if (threadIdx.x == 77) value = 5;
  __syncthreads();
  out[threadIdx.x] = value;
}

// Lanes of two warps read, then a lane of one of them writes.
__global__ void WriteAfterReadOfTwoWarps(int* out) {
  __shared__ int value;
  if (threadIdx.x == 0) value = 5;
  __syncthreads();
  out[threadIdx.x] = value;
  __syncwarp();
  if (threadIdx.x == 64) value = 6;
}

// Sums of blocks: shared memory of an earlier block is no matter.
LaunchResult Go(void (*kernel)(int*), std::uint64_t seed) {
  static int out[128];
  return launch({.grid = dim3(2),
                 .block = dim3(128),
                 .dyn_smem = 2048,
                 .schedule = {seed}},
                kernel, out);
}

TEST(RaceDetector, NoAlarmsForRightKernels) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (auto kernel : {BlockSum<kNothing>, WarpExchange<kNothing>,
                        HalfWarpExchange<kNothing>, Counter<kNothing>,
                        ShuffleIsNoFence<kNothing>, Bytes<kNothing>,
                        ClearAndCopy<kNothing>, Clear<kNothing>, Broadcast}) {
      const LaunchResult result = Go(kernel, seed);
      ASSERT_TRUE(result.ok()) << seed << ": " << result.message;
    }
  }
}

struct Planted {
  const char* name;
  void (*kernel)(int*);
  const char* region;
};

void PrintTo(const Planted& p, std::ostream* out) { *out << p.name; }

class PlantedRace : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedRace, IsFoundAtTheFirstLaunchOfEverySchedule) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const LaunchResult result = Go(GetParam().kernel, seed);
    ASSERT_EQ(result.kind, FaultKind::kSharedRace) << seed;
    ASSERT_THAT(result.message,
                AllOf(StartsWith("shared-memory race: "), HasSubstr(" after "),
                      HasSubstr(GetParam().region), HasSubstr("against lane")));
    // Accesses are traced and lanes dropped mid-way: the next must be clean.
    ASSERT_TRUE(Go(Broadcast, seed).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedRace,
    ::testing::Values(
        Planted{"BlockSumFirst", BlockSum<kFirst>, "static"},
        Planted{"BlockSumSecond", BlockSum<kSecond>, "static"},
        Planted{"WarpExchangeFirst", WarpExchange<kFirst>, "static"},
        Planted{"WarpExchangeSecond", WarpExchange<kSecond>, "static"},
        Planted{"HalfWarpFirst", HalfWarpExchange<kFirst>, "dynamic"},
        Planted{"HalfWarpSecond", HalfWarpExchange<kSecond>, "dynamic"},
        Planted{"CounterFirst", Counter<kFirst>, "static"},
        Planted{"CounterSecond", Counter<kSecond>, "static"},
        Planted{"ShuffleIsNoFence", ShuffleIsNoFence<kFirst>, "static"},
        Planted{"Bytes", Bytes<kFirst>, "static"},
        Planted{"CopyFirst", ClearAndCopy<kFirst>, "static"},
        Planted{"CopySecond", ClearAndCopy<kSecond>, "static"},
        Planted{"Clear", Clear<kFirst>, "static"},
        Planted{"WriteAfterRead", WriteAfterReadOfTwoWarps, "static"}),
    [](const auto& info) { return info.param.name; });

TEST(RaceDetector, GivesTheSameTextForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(Go(BlockSum<kFirst>, seed).message,
              Go(BlockSum<kFirst>, seed).message);
  }
}

}  // namespace
}  // namespace mlafuzz::simt
