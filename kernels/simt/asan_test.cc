// What AddressSanitizer must still see from inside a lane.

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::simt {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_TEST_HAS_ASAN 1
#endif
#endif

class AsanDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef SIMT_TEST_HAS_ASAN
    GTEST_SKIP() << "built without AddressSanitizer";
#endif
  }
};

// Hides where a pointer comes from, so that no access is folded away.
template <class T>
T* Opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

template <int kSize>
__global__ void StaticShared(int* out, int shift) {
  __shared__ int tile[kSize];
  __shared__ int other[kSize];
  Opaque(tile)[static_cast<int>(threadIdx.x) + shift] = 1;
  Opaque(other)[static_cast<int>(threadIdx.x) + shift] = 2;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(AsanDeathTest, StaticSharedOverflow) {
  int out[32];
  ASSERT_TRUE(launch({.block = dim3(32)}, StaticShared<32>, out, 0).ok());
  EXPECT_DEATH((void)launch({.block = dim3(32)}, StaticShared<32>, out, 1),
               "global-buffer-overflow");
  // Only one of the two can be the first, with nothing of ASan's before it.
  EXPECT_DEATH((void)launch({.block = dim3(32)}, StaticShared<32>, out, -1),
               "global-buffer-overflow");
}

__global__ void DynamicShared(int* out, int shift) {
  SIMT_DYN_SHARED(int, tile);
  tile[static_cast<int>(threadIdx.x) + shift] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(AsanDeathTest, DynamicSharedBeyondTheRequest) {
  int out[32];
  const auto go = [&](std::size_t bytes, int shift) {
    return launch({.block = dim3(32), .dyn_smem = bytes}, DynamicShared, out,
                  shift);
  };
  ASSERT_TRUE(go(4096, 0).ok());  // a larger request must not linger
  ASSERT_TRUE(go(128, 0).ok());
  EXPECT_DEATH((void)go(128, 1), "use-after-poison");
  EXPECT_DEATH((void)go(126, 0), "use-after-poison");
  EXPECT_DEATH((void)go(128, -1), "use-after-poison");
  EXPECT_DEATH((void)go(0, 0), "use-after-poison");
  EXPECT_DEATH((void)go(kMaxDynamicShared, int(kMaxDynamicShared / 4) - 31),
               "use-after-poison");
}

__global__ void Heap(int* out, int shift) {
  __syncthreads();
  out[static_cast<int>(threadIdx.x) + shift] = 1;
}

TEST_F(AsanDeathTest, HeapOverflowFromALane) {
  int* out = new int[32];
  EXPECT_DEATH((void)launch({.block = dim3(32)}, Heap, out, 1),
               "heap-buffer-overflow");
  delete[] out;
}

__global__ void LaneStack(int* out, int index) {
  int frame[8] = {};
  __syncthreads();
  out[threadIdx.x] = Opaque(frame)[threadIdx.x == 9 ? index : 0];
}

TEST_F(AsanDeathTest, StackBufferOverflowInALane) {
  int out[32];
  ASSERT_TRUE(launch({.block = dim3(32)}, LaneStack, out, 7).ok());
  EXPECT_DEATH((void)launch({.block = dim3(32)}, LaneStack, out, 8),
               "stack-buffer-overflow");
}

__attribute__((noinline)) int Recurse(int depth) {
  char frame[256];
  *Opaque(frame) = static_cast<char>(depth);
  return depth == 0 ? 0 : Recurse(depth - 1) + *Opaque(frame);
}

__global__ void DeepLane(int* out, int depth) {
  __syncthreads();
  out[threadIdx.x] = Recurse(depth);
}

TEST_F(AsanDeathTest, LaneStackExhausted) {
  int out[32];
  ASSERT_TRUE(launch({.block = dim3(32)}, DeepLane, out, 10).ok());
  EXPECT_DEATH((void)launch({.block = dim3(32)}, DeepLane, out, 1000),
               "stack-overflow");
}

// Faults must leave no redzones behind where the next lanes' frames go, and
// detection must work after them.
__global__ void DropFrames(int* out) {
  int frame[64];
  Opaque(frame)[threadIdx.x & 63] = 1;
  if (threadIdx.x % 2 == 0) __syncthreads();
  if (threadIdx.x % 2 == 1) __syncwarp();
  out[threadIdx.x & 31] = frame[threadIdx.x & 63];
}

__global__ void OtherFrames(int* out) {
  char frame[3000];
  for (int i = 0; i < 3000; ++i) Opaque(frame)[i] = 1;
  __syncthreads();
  out[threadIdx.x & 31] = Opaque(frame)[threadIdx.x];
}

TEST_F(AsanDeathTest, AbandonedStacksAreClean) {
  int out[32];
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(
        launch({.block = dim3(96), .schedule = {seed}}, DropFrames, out).kind,
        FaultKind::kDeadlock);
    ASSERT_TRUE(
        launch({.block = dim3(96), .schedule = {seed}}, OtherFrames, out).ok());
  }
  EXPECT_DEATH((void)launch({.block = dim3(32)}, LaneStack, out, 8),
               "stack-buffer-overflow");
}

// The thread's own stack is known again after a launch.
TEST_F(AsanDeathTest, CallersStackIsStillChecked) {
  int out[32];
  ASSERT_TRUE(launch({.block = dim3(32)}, LaneStack, out, 0).ok());
  int frame[8] = {};
  EXPECT_DEATH((void)*const_cast<volatile int*>(&Opaque(frame)[8]),
               "stack-buffer-overflow");
}

}  // namespace
}  // namespace mlafuzz::simt
