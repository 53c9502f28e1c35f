// Every misuse is told in words, and the next launch works.

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

// Weak: mallinfo2() knows nothing where a sanitizer allocates.
extern "C" __attribute__((weak)) std::size_t
__sanitizer_get_current_allocated_bytes();

namespace mlafuzz::simt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr unsigned kAll = 0xffffffffu;

__global__ void RightKernel(int* out) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] =
      tile[blockDim.x - 1 - threadIdx.x] + __popc(__ballot_sync(kAll, 1));
}

void ExpectLaunchesWork() {
  std::vector<int> out(1024);
  const LaunchResult result =
      launch({.block = dim3(1024), .schedule = {7}}, RightKernel, out.data());
  ASSERT_TRUE(result.ok()) << result.message;
  for (int t = 0; t < 1024; ++t) ASSERT_EQ(out[t], 1023 - t + 32);
}

// -------------------------------------------------------------- Faulty kernels

__global__ void LaneMissesShuffle(int* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 1);
  } else {
    __syncthreads();
  }
}

__global__ void BarrierInOneBranch(int* out) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void TwoBarriersOneLine(int* out) {
  // clang-format off
  if (threadIdx.x == 9) __syncthreads(); else __syncthreads();
  // clang-format on
  out[threadIdx.x] = 1;
}

__global__ void BallotMeetsSyncwarp(unsigned* out) {
  if (threadIdx.x < 8) {
    out[threadIdx.x] = __ballot_sync(kAll, 1);
  } else {
    __syncwarp();
  }
}

__global__ void ForeignMask(unsigned* out) {
  out[threadIdx.x] = __ballot_sync(0xffffu, 1);
}

__global__ void SourceOutsideMask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, 1, 16);
}

__global__ void SourceHasExited(int* out) {
  if (threadIdx.x == 3) return;
  out[threadIdx.x] = __shfl_sync(kAll, 1, 3);
}

__global__ void OddWidth(int* out) {
  out[threadIdx.x] = __shfl_sync(kAll, 1, 0, 12);
}

__global__ void SynchronisesForEver(int* out) {
  while (*static_cast<volatile int*>(out) == 0) __syncwarp();
}

__global__ void Launches(FaultKind* out) {
  out[threadIdx.x] = launch({.block = dim3(32)}, Launches, out).kind;
}

__global__ void Nothing() {}

struct Case {
  const char* name;
  FaultKind kind;
  LaunchResult (*run)(std::uint64_t seed);
  std::vector<std::string> words;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

template <auto kKernel, class Out>
LaunchResult Go(std::uint64_t seed) {
  static Out out[64];
  out[0] = {};
  return launch({.grid = dim3(3),
                 .block = dim3(32),
                 .schedule = {seed},
                 .sync_limit = 10000},
                kKernel, out);
}

const Case kCases[] = {
    {"Deadlock",
     FaultKind::kDeadlock,
     Go<LaneMissesShuffle, int>,
     {"no lane can run", "32 lanes unfinished",
      "lanes 0-15 wait at __shfl_xor_sync with mask 0xffffffff, "
      "fault_test.cc:",
      "lanes 16-31 wait at __syncthreads(), fault_test.cc:"}},
    {"BarrierDivergence",
     FaultKind::kBarrierDivergence,
     Go<BarrierInOneBranch, int>,
     {"different __syncthreads()", "fault_test.cc:", "thread ("}},
    {"BarrierDivergenceOnOneLine",
     FaultKind::kBarrierDivergence,
     Go<TwoBarriersOneLine, int>,
     {"different __syncthreads()"}},
    {"WarpOpMismatch",
     FaultKind::kWarpOpMismatch,
     Go<BallotMeetsSyncwarp, unsigned>,
     {"different intrinsics", "a vote with mask", "__syncwarp with mask"}},
    {"NotInMask",
     FaultKind::kNotInMask,
     Go<ForeignMask, unsigned>,
     {"does not name the calling lane", "mask 0x0000ffff"}},
    {"SourceOutsideMask",
     FaultKind::kBadShuffle,
     Go<SourceOutsideMask, int>,
     {"source lane does not take part", "__shfl_xor_sync with mask 0x0000ffff",
      "operand 16"}},
    {"SourceHasExited",
     FaultKind::kBadShuffle,
     Go<SourceHasExited, int>,
     {"source lane does not take part", "operand 3"}},
    {"OddWidth",
     FaultKind::kBadShuffle,
     Go<OddWidth, int>,
     {"not a power of two", "width 12"}},
    {"Watchdog",
     FaultKind::kWatchdog,
     Go<SynchronisesForEver, int>,
     {"sync_limit", "fault_test.cc:"}},
};

class Fault : public ::testing::TestWithParam<Case> {};

TEST_P(Fault, IsToldInWordsUnderEverySchedule) {
  const Case& c = GetParam();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const LaunchResult result = c.run(seed);
    ASSERT_EQ(result.kind, c.kind) << seed << ": " << result.message;
    EXPECT_THAT(result.message, StartsWith(FaultName(c.kind)));
    for (const std::string& words : c.words) {
      ASSERT_THAT(result.message, HasSubstr(words)) << "seed " << seed;
    }
  }
  ExpectLaunchesWork();
}

TEST_P(Fault, GivesTheSameTextForTheSameSeed) {
  const Case& c = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(c.run(seed).message, c.run(seed).message);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fault, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Fault, NamesTheBlock) {
  EXPECT_THAT((Go<LaneMissesShuffle, int>(0).message),
              HasSubstr("block (0,0,0)"));
  EXPECT_THAT((Go<LaneMissesShuffle, int>(4).message),  // blocks reversed
              HasSubstr("block (2,0,0)"));
}

// --------------------------------------------------------------- Configuration

TEST(BadConfiguration, IsRefused) {
  const std::pair<Config, const char*> cases[] = {
      {{.grid = dim3(0), .block = dim3(32)}, "grid is empty"},
      {{.grid = dim3(1, 1, 0), .block = dim3(32)}, "grid is empty"},
      {{.grid = dim3(1, 65536), .block = dim3(32)}, "grid is larger"},
      {{.block = dim3(0)}, "block is empty"},
      {{.block = dim3(1025)}, "1024 lanes"},
      {{.block = dim3(512, 3)}, "1024 lanes"},
      {{.block = dim3(1, 1, 65)}, "64 in z"},
      {{.block = dim3(1u << 31, 2)}, "1024 lanes"},
      {{.block = dim3(32), .dyn_smem = kMaxDynamicShared + 1}, "227 KiB"},
  };
  for (const auto& [config, words] : cases) {
    const LaunchResult result = launch(config, Nothing);
    EXPECT_EQ(result.kind, FaultKind::kBadConfiguration);
    EXPECT_THAT(result.message, AllOf(StartsWith("bad launch configuration"),
                                      HasSubstr(words)));
  }
  EXPECT_TRUE(launch({.block = dim3(1024)}, Nothing).ok());
  ExpectLaunchesWork();
}

TEST(BadConfiguration, LaunchInsideAKernel) {
  std::vector<FaultKind> out(32);
  EXPECT_TRUE(launch({.block = dim3(32)}, Launches, out.data()).ok());
  EXPECT_EQ(out, std::vector<FaultKind>(32, FaultKind::kBadConfiguration));
}

// -------------------------------------------------------------------- Recovery

// Bytes that malloc has given out and not taken back.
std::size_t AllocatedBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return mallinfo2().uordblks;
}

// All lanes have a large frame when they are dropped.
__global__ void DeadlockWithFrames(int* out) {
  volatile int frame[512];
  for (int i = 0; i < 512; ++i) frame[i] = i;
  if (threadIdx.x != 77) __syncthreads();
  if (threadIdx.x == 77) __syncwarp(0x2000u | 0x4000u);
  out[threadIdx.x] = frame[threadIdx.x & 511];
}

TEST(Recovery, ThousandFaultsInARow) {
  std::vector<int> out(1024);
  std::size_t before = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (i == 300) before = AllocatedBytes();
    const LaunchResult result = launch({.block = dim3(1024), .schedule = {i}},
                                       DeadlockWithFrames, out.data());
    ASSERT_EQ(result.kind, FaultKind::kDeadlock);
    if (i % 10 == 0) ExpectLaunchesWork();
  }
  EXPECT_EQ(AllocatedBytes(), before);
}

TEST(Recovery, FaultsOfAllKindsInTurn) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (const Case& c : kCases) {
      ASSERT_EQ(c.run(i).kind, c.kind);
      if (i % 4 == 0) ExpectLaunchesWork();
    }
  }
}

TEST(Recovery, ThousandsOfLaunchesLeakNothing) {
  int out[64];
  std::size_t before = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i == 2000) before = AllocatedBytes();
    ASSERT_TRUE(launch({.grid = dim3(2),
                        .block = dim3(64),
                        .schedule = {static_cast<std::uint64_t>(i)}},
                       RightKernel, out)
                    .ok());
  }
  EXPECT_EQ(AllocatedBytes(), before);
}

TEST(Threads, TakeTurns) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) {
        ExpectLaunchesWork();
        EXPECT_FALSE((Go<OddWidth, int>(k).ok()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ------------------------------------------------------------------ Exceptions

__attribute__((noinline)) int SumOfFrame(int t) {
  volatile int frame[4] = {t, t, t, t};
  return frame[0] + frame[1] + frame[2] + frame[3];
}

// Throws and catches inside some lanes while all have a frame in use.
__global__ void Throws(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  volatile int frame[4] = {t, t + 1, t + 2, t + 3};
  __syncwarp();
  int sum = 0;
  try {
    if (t % 7 == 3) throw std::runtime_error("x");
  } catch (const std::exception&) {
    sum = 1000;
  }
  sum += SumOfFrame(t);
  __syncwarp();
  sum += SumOfFrame(t);
  __syncwarp();
  out[t] = sum + frame[t & 3];
}

TEST(Exceptions, StayInsideALane) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    int out[64];
    ASSERT_TRUE(
        launch({.block = dim3(64), .schedule = {seed}}, Throws, out).ok());
    for (int t = 0; t < 64; ++t) {
      ASSERT_EQ(out[t], (t % 7 == 3 ? 1000 : 0) + 8 * t + t + (t & 3));
    }
  }
}

}  // namespace
}  // namespace mlafuzz::simt
