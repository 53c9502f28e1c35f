#include "kernels/crash_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

// These crash on purpose; UBSan's and ASan's own checks would come first.
#define MLAFUZZ_UNCHECKED __attribute__((no_sanitize("address", "undefined")))

namespace mlafuzz {
namespace {

// A page that cannot be accessed.
std::uint8_t* Forbidden() {
  static void* const page =
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<std::uint8_t*>(page);
}

MLAFUZZ_UNCHECKED void Store(std::uint8_t* to) {
  *static_cast<volatile std::uint8_t*>(to) = 1;
}

// Lane 37 crashes while others wait at a barrier and in a shuffle.
MLAFUZZ_UNCHECKED __global__ void CrashInLane(std::uint8_t* to, int* sum) {
  const int sum_of_warp =
      __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
  if (threadIdx.x == 37 && to != nullptr) Store(to);
  __syncthreads();
  atomicAdd(sum, sum_of_warp);
}

MLAFUZZ_UNCHECKED int Overflow(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return depth == 1 << 30 ? 0 : Overflow(depth + 1) + frame[0];
}
__global__ void OverflowStack(int* sum) { atomicAdd(sum, Overflow(0)); }

simt::Config ConfigOf(std::uint64_t schedule) {
  simt::Config config;
  config.grid = dim3(2);
  config.block = dim3(96);
  config.schedule = {schedule};
  return config;
}

TEST(CrashGuard, NoCrash) {
  int runs = 0;
  EXPECT_FALSE(CrashGuard::Run([&] { ++runs; }).has_value());
  EXPECT_EQ(runs, 1);
}

TEST(CrashGuard, OutsideOfALane) {
  for (int i = 0; i < 100; ++i) {
    const std::optional<Crash> crash =
        CrashGuard::Run([] { Store(Forbidden() + 123); });
    ASSERT_TRUE(crash.has_value());
    EXPECT_STREQ(SignalName(crash->signal), "SIGSEGV");
    EXPECT_TRUE(crash->has_address);
    EXPECT_EQ(crash->address,
              reinterpret_cast<std::uintptr_t>(Forbidden() + 123));
  }
}

TEST(CrashGuard, InALaneAndTheNextLaunchIsRight) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    int sum = 0;
    simt::LaunchResult result;
    const std::optional<Crash> crash = CrashGuard::Run([&] {
      result = simt::launch(ConfigOf(i * 0x9e3779b97f4a7c15u), CrashInLane,
                            Forbidden(), &sum);
    });
    ASSERT_TRUE(crash.has_value());
    ASSERT_EQ(crash->address, reinterpret_cast<std::uintptr_t>(Forbidden()));
    ASSERT_EQ(result.kind, simt::FaultKind::kAbandoned) << result.message;
    sum = 0;
    ASSERT_FALSE(CrashGuard::Run([&] {
                   result =
                       simt::launch(ConfigOf(i), CrashInLane,
                                    static_cast<std::uint8_t*>(nullptr), &sum);
                 }).has_value());
    ASSERT_TRUE(result.ok()) << result.message;
    ASSERT_EQ(sum, 2 * 96 * 95 / 2);
  }
}

TEST(CrashGuard, ALanesStackMayOverflow) {
  for (int i = 0; i < 10; ++i) {
    int sum = 0;
    simt::LaunchResult result;
    const std::optional<Crash> crash = CrashGuard::Run(
        [&] { result = simt::launch(ConfigOf(0), OverflowStack, &sum); });
    ASSERT_TRUE(crash.has_value());
    ASSERT_EQ(result.kind, simt::FaultKind::kAbandoned);
  }
}

TEST(CrashGuard, IllegalInstructions) {
  const std::optional<Crash> crash = CrashGuard::Run([] { __builtin_trap(); });
  ASSERT_TRUE(crash.has_value());
  EXPECT_STREQ(SignalName(crash->signal), "SIGILL");
}

TEST(CrashGuard, NonCanonicalAddresses) {
#ifdef __x86_64__
  const std::optional<Crash> crash = CrashGuard::Run([] {
    Store(reinterpret_cast<std::uint8_t*>(std::uintptr_t{0x123456} << 40));
  });
  ASSERT_TRUE(crash.has_value());
  EXPECT_FALSE(crash->has_address);
#endif
}

TEST(CrashGuard, OnAnotherThread) {
  std::thread([] {
    const std::optional<Crash> crash =
        CrashGuard::Run([] { Store(Forbidden()); });
    EXPECT_TRUE(crash.has_value());
  }).join();
}

using CrashGuardDeathTest = ::testing::Test;

TEST(CrashGuardDeathTest, LeavesOtherCrashesAlone) {
  CrashGuard::Run([] {});
  EXPECT_DEATH(Store(Forbidden()), "");
  EXPECT_DEATH(CrashGuard::Run([] { abort(); }), "");
  EXPECT_DEATH(CrashGuard::Run([] { raise(SIGSEGV); }), "");
}

}  // namespace
}  // namespace mlafuzz
