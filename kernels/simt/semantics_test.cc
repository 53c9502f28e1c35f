// What CUDA's intrinsics must do, and that the schedule does not show.

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::simt {
namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr std::uint64_t kSeeds = 300;

template <class Kernel, class... Args>
void RunBlockOf(unsigned lanes, std::uint64_t seed, Kernel kernel,
                Args... args) {
  const LaunchResult result =
      launch({.block = dim3(lanes), .schedule = {seed}}, kernel, args...);
  ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.message;
}

// ------------------------------------------------------------------ Built-ins

__global__ void WhoAmI(uint3* thread, uint3* block, int* order, int* next) {
  const unsigned b =
      blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned t =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = b * blockDim.x * blockDim.y * blockDim.z + t;
  thread[i] = threadIdx;
  block[i] = blockIdx;
  if (t == 0) order[atomicAdd(next, 1)] = static_cast<int>(b);
}

TEST(BuiltIns, CoverGridAndBlockInAllDimensions) {
  const dim3 grid(2, 3, 2);
  const dim3 block(4, 3, 5);
  std::vector<uint3> threads(12 * 60), blocks(12 * 60);
  std::vector<int> order(12);
  int next = 0;
  ASSERT_TRUE(launch({.grid = grid, .block = block}, WhoAmI, threads.data(),
                     blocks.data(), order.data(), &next)
                  .ok());
  std::set<std::array<unsigned, 6>> seen;
  for (int i = 0; i < 12 * 60; ++i) {
    EXPECT_EQ(threads[i].x + 4 * (threads[i].y + 3 * threads[i].z), i % 60);
    EXPECT_EQ(blocks[i].x + 2 * (blocks[i].y + 3 * blocks[i].z), i / 60);
  }
}

TEST(Schedule, OrdersBlocksAsDocumented) {
  const auto order_of = [](std::uint64_t seed) {
    std::vector<uint3> threads(7 * 32), blocks(7 * 32);
    std::vector<int> order(7);
    int next = 0;
    EXPECT_TRUE(launch({.grid = dim3(7), .block = dim3(32), .schedule = {seed}},
                       WhoAmI, threads.data(), blocks.data(), order.data(),
                       &next)
                    .ok());
    EXPECT_EQ(next, 7);
    return order;
  };
  EXPECT_EQ(order_of(0), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(order_of(4), (std::vector<int>{6, 5, 4, 3, 2, 1, 0}));
  std::set<int> first;
  for (std::uint64_t salt = 0; salt < 200; ++salt) {
    const std::vector<int> order = order_of(salt << 3);
    first.insert(order[0]);
    for (int i = 1; i < 7; ++i) EXPECT_EQ(order[i], (order[i - 1] + 1) % 7);
  }
  EXPECT_EQ(first.size(), 7u);
}

__global__ void Turns(int* order, int* next) {
  order[(*next)++] = static_cast<int>(threadIdx.x);
}

TEST(Schedule, OrdersLanesAsDocumented) {
  const auto order_of = [](Schedule schedule) {
    std::vector<int> order(64);
    int next = 0;
    EXPECT_TRUE(launch({.block = dim3(64), .schedule = schedule}, Turns,
                       order.data(), &next)
                    .ok());
    return order;
  };
  const std::vector<int> in_order = order_of(Schedule::Of(LaneOrder::kInOrder));
  const std::vector<int> reverse = order_of(Schedule::Of(LaneOrder::kReverse));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(in_order[i], i);
    EXPECT_EQ(reverse[i], 63 - i);
  }
  // Sticky: a warp is used up before the other starts.
  const std::vector<int> sticky =
      order_of(Schedule::Of(LaneOrder::kStickyWarp, 5));
  for (int i = 1; i < 64; ++i) {
    EXPECT_EQ(sticky[i] / 32 == sticky[i - 1] / 32, i != 32);
  }
  const std::vector<int> random = order_of(Schedule::Of(LaneOrder::kRandom, 5));
  EXPECT_EQ(std::set<int>(random.begin(), random.end()).size(), 64u);
  EXPECT_NE(random, in_order);
}

TEST(Schedule, ChoosesUniformly) {
  std::array<int, 32> first{};
  constexpr int kLaunches = 32000;
  for (std::uint64_t salt = 0; salt < kLaunches; ++salt) {
    std::vector<int> order(32);
    int next = 0;
    ASSERT_TRUE(launch({.block = dim3(32),
                        .schedule = Schedule::Of(LaneOrder::kStickyWarp, salt)},
                       Turns, order.data(), &next)
                    .ok());
    ++first[order[0]];
  }
  for (int count : first) EXPECT_NEAR(count, kLaunches / 32, 160);  // 5 sigma
}

// ------------------------------------------------------------------- Shuffles

struct Shuffled {
  int up, down, exclusive_or, index;
};

__global__ void ShuffleAll(Shuffled* out, int operand, int width) {
  const int me = static_cast<int>(threadIdx.x);
  const unsigned delta = static_cast<unsigned>(operand);
  out[me].up = __shfl_up_sync(kAll, me, delta, width);
  out[me].down = __shfl_down_sync(kAll, me, delta, width);
  out[me].exclusive_or = __shfl_xor_sync(kAll, me, operand, width);
  out[me].index = __shfl_sync(kAll, me, operand, width);
}

TEST(Shuffle, FollowsTheProgrammingGuideForEveryWidth) {
  std::uint64_t seed = 0;
  for (int width : {1, 2, 4, 8, 16, 32}) {
    for (int operand = 0; operand < 32; ++operand) {
      std::vector<Shuffled> out(64);
      RunBlockOf(64, seed++, ShuffleAll, out.data(), operand, width);
      for (int t = 0; t < 64; ++t) {
        const int warp = t / 32 * 32;
        const int lane = t % 32;
        const int first = lane / width * width;
        const int last = first + width - 1;
        const auto or_own = [&](int source, bool can) {
          return warp + (can ? source : lane);
        };
        EXPECT_EQ(out[t].up, or_own(lane - operand, lane - operand >= first));
        EXPECT_EQ(out[t].down, or_own(lane + operand, lane + operand <= last));
        EXPECT_EQ(out[t].exclusive_or,
                  or_own(lane ^ operand, (lane ^ operand) <= last));
        EXPECT_EQ(out[t].index, warp + first + operand % width);
      }
    }
  }
}

__global__ void ShuffleTypes(double* d, long long* i, float* f, int* narrow) {
  const unsigned t = threadIdx.x;
  d[t] = __shfl_xor_sync(kAll, t + 0.5, 1);
  i[t] = __shfl_xor_sync(kAll, (1LL << 40) - t, 1);
  f[t] = __shfl_xor_sync(kAll, -static_cast<float>(t), 1);
  const std::uint8_t byte = static_cast<std::uint8_t>(t + 200);
  static_assert(std::is_same_v<decltype(__shfl_xor_sync(kAll, byte, 1)), int>);
  narrow[t] = __shfl_xor_sync(kAll, byte, 1);
}

TEST(Shuffle, CarriesAllArithmeticTypes) {
  std::vector<double> d(32);
  std::vector<long long> i(32);
  std::vector<float> f(32);
  std::vector<int> narrow(32);
  RunBlockOf(32, 7, ShuffleTypes, d.data(), i.data(), f.data(), narrow.data());
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(d[t], (t ^ 1) + 0.5);
    EXPECT_EQ(i[t], (1LL << 40) - (t ^ 1));
    EXPECT_EQ(f[t], -static_cast<float>(t ^ 1));
    EXPECT_EQ(narrow[t], (t ^ 1) + 200);
  }
}

__global__ void HalfWarps(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  int v = t;
  // The halves run different numbers of steps: they are independent.
  if (t < 16) {
    v += __shfl_xor_sync(0x0000ffffu, v, 3, 16);
  } else {
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0xffff0000u, v, d, 16);
  }
  __syncwarp();
  out[t] = v;
}

TEST(Masks, DisjointGroupsAreIndependent) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> out(32);
    RunBlockOf(32, seed, HalfWarps, out.data());
    for (int t = 0; t < 16; ++t) ASSERT_EQ(out[t], t + (t ^ 3));
    for (int t = 16; t < 32; ++t) ASSERT_EQ(out[t], (16 + 31) * 8);
  }
}

// Lane 0 is in both groups, and takes them in this order.
__global__ void OverlappingGroups(unsigned* out) {
  const unsigned t = threadIdx.x;
  if (t == 0 || t == 1) out[t] = __ballot_sync(0x3u, 1);
  if (t == 0 || t == 2) out[t + 3] = __ballot_sync(0x5u, t == 2);
}

TEST(Masks, LaneMayMeetAnotherGroupFirst) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<unsigned> out(6);
    RunBlockOf(32, seed, OverlappingGroups, out.data());
    EXPECT_EQ(out, (std::vector<unsigned>{3, 3, 0, 4, 0, 4}));
  }
}

// Two groups that wait for nobody but lane 5, which exits.
__global__ void ExitCompletesTwoGroups(unsigned* out) {
  const unsigned t = threadIdx.x;
  if (t == 5) return;
  if (t < 2) out[t] = __ballot_sync(0x23u, 1);
  if (t == 2 || t == 3) out[t] = __ballot_sync(0x2cu, 1);
}

TEST(Masks, OneExitCompletesAllGroupsThatWaitForIt) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<unsigned> out(4);
    RunBlockOf(6, seed, ExitCompletesTwoGroups, out.data());
    EXPECT_EQ(out, (std::vector<unsigned>{3, 3, 12, 12}));
  }
}

__global__ void OddLanesExit(unsigned* out) {
  if ((threadIdx.x & 1) != 0) return;
  __syncthreads();
  out[threadIdx.x] = __ballot_sync(kAll, threadIdx.x % 4 == 0);
}

TEST(Masks, ExitedLanesDoNotCount) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<unsigned> out(64);
    RunBlockOf(64, seed, OddLanesExit, out.data());
    for (int t = 0; t < 64; ++t) ASSERT_EQ(out[t], t % 2 ? 0 : 0x11111111u);
  }
}

__global__ void Votes(unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned low = __ballot_sync(kAll, t % 32 < 5);
  const int any = __any_sync(kAll, t == 40);
  const int all = __all_sync(kAll, t < 40);
  out[t] =
      low | static_cast<unsigned>(any) << 30 | static_cast<unsigned>(all) << 31;
}

TEST(Votes, PartialLastWarpAndAllPredicates) {
  std::vector<unsigned> out(41);
  RunBlockOf(41, 3, Votes, out.data());
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], 31u | 1u << 31);
  for (int t = 32; t < 41; ++t) EXPECT_EQ(out[t], 31u | 1u << 30);
}

// ------------------------------------------------------------------ Libraries

TEST(Intrinsics, BitsAndCasts) {
  EXPECT_EQ(__popc(0xf0f0u), 8);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(-1), 0);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__uint_as_float(0x3f800000u), 1.0f);
  EXPECT_EQ(__float_as_int(-0.0f), INT32_MIN);
  EXPECT_EQ(__umulhi(0x80000000u, 6), 3u);
  EXPECT_EQ(min(-1, 2), -1);
  EXPECT_EQ(max(NAN, 2.0f), 2.0f);
  static_assert(sizeof(uint4) == 16 && alignof(uint4) == 16);
  static_assert(alignof(float2) == 8 && alignof(uint3) == 4);
  EXPECT_EQ(make_uint4(1, 2, 3, 4).w, 4u);
}

__global__ void Atomics(int* counter, unsigned* highest, float* sum, int* old) {
  const int t = static_cast<int>(threadIdx.x);
  old[t] = atomicAdd(counter, 1);
  atomicMax(highest, threadIdx.x * 7 % 64);
  atomicAdd(sum, 0.5f);
  if (atomicCAS(&old[64], 0, t + 1) == 0) old[65] = t;
}

TEST(Intrinsics, AtomicsCountAllLanes) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    int counter = 0x7fffffff;
    unsigned highest = 0;
    float sum = 0;
    std::vector<int> old(66);
    RunBlockOf(64, seed, Atomics, &counter, &highest, &sum, old.data());
    EXPECT_EQ(counter, static_cast<int>(0x7fffffffu + 64));  // wraps
    EXPECT_EQ(highest, 63u);
    EXPECT_EQ(sum, 32.0f);
    EXPECT_EQ(std::set<int>(old.begin(), old.begin() + 64).size(), 64u);
    EXPECT_EQ(old[64], old[65] + 1);
  }
}

// -------------------------------------------------------------- Shared memory

template <int kSize>
__global__ void Reverse(int* out) {
  __shared__ int tile[kSize];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x) * kSize;
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

TEST(Shared, EachInstanceOfATemplateHasItsOwn) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> a(96), b(200);
    RunBlockOf(96, seed, Reverse<96>, a.data());
    RunBlockOf(200, seed, Reverse<200>, b.data());
    for (int t = 0; t < 96; ++t) ASSERT_EQ(a[t], (95 - t) * 96);
    for (int t = 0; t < 200; ++t) ASSERT_EQ(b[t], (199 - t) * 200);
  }
}

__global__ void ReadFirst(unsigned* out) {
  __shared__ __align__(16) unsigned fixed[4];
  SIMT_DYN_SHARED(unsigned, dynamic);
  const unsigned t = threadIdx.x;
  out[blockIdx.x * 8 + t] = fixed[t];
  out[blockIdx.x * 8 + 4 + t] = dynamic[t];
  fixed[t] = dynamic[t] = 7;
}

TEST(Shared, IsGarbageAtEachBlockStart) {
  for (int i = 0; i < 3; ++i) {
    std::vector<unsigned> out(16);
    ASSERT_TRUE(launch({.grid = dim3(2), .block = dim3(4), .dyn_smem = 16},
                       ReadFirst, out.data())
                    .ok());
    EXPECT_EQ(out, std::vector<unsigned>(16, 0xffffffffu));
  }
}

__global__ void LastByte(int size) {
  SIMT_DYN_SHARED(char, bytes);
  bytes[size - 1] = 1;
}

TEST(Shared, DynamicUpToTheLimit) {
  for (std::size_t size : {std::size_t{1}, kMaxDynamicShared, std::size_t{9}}) {
    EXPECT_TRUE(launch({.block = dim3(1), .dyn_smem = size}, LastByte,
                       static_cast<int>(size))
                    .ok());
  }
}

// ------------------------------------------------------- Independent of order

// Block sum by shuffles, shared memory and barriers, used twice over.
__global__ void BlockSum(const int* in, int* out) {
  __shared__ int partial[4];
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    int v = in[threadIdx.x] + round;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(kAll, v, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < 4; ++w) sum += partial[w];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

TEST(RightKernel, GivesTheSameUnderEverySchedule) {
  std::vector<int> in(128);
  int sum = 0;
  for (int i = 0; i < 128; ++i) sum += 2 * (in[i] = i * i) + 1;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<int> out(128);
    RunBlockOf(128, seed, BlockSum, in.data(), out.data());
    ASSERT_EQ(out, std::vector<int>(128, sum)) << seed;
  }
}

// -------------------------------------------------------------- Broken kernels

enum Missing { kNothing, kFirst, kSecond };

// A warp exchange through shared memory, twice over the same buffer.
template <Missing kMissing>
__global__ void WarpExchange(int* out) {
  __shared__ int tile[64];
  const unsigned t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    tile[t] = static_cast<int>(t) + round;
    if (kMissing != kFirst) __syncwarp();
    sum += tile[t ^ 31];
    if (kMissing != kSecond) __syncwarp();
  }
  out[t] = sum;
}

// Warp 1 produces for warp 0: right by luck if warp 1 runs first.
template <bool kBarrier>
__global__ void HighToLow(int* out) {
  __shared__ int tile[32];
  if (threadIdx.x >= 32) tile[threadIdx.x - 32] = 5;
  if (kBarrier) __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = tile[threadIdx.x];
}

template <bool kBarrier>
__global__ void LowToHigh(int* out) {
  __shared__ int tile[32];
  if (threadIdx.x < 32) tile[threadIdx.x] = 5;
  if (kBarrier) __syncthreads();
  if (threadIdx.x >= 32) out[threadIdx.x - 32] = tile[threadIdx.x - 32];
}

// In how many of the schedules of one lane order the output is wrong.
int WrongRuns(void (*kernel)(int*), LaneOrder order, int launches,
              const std::vector<int>& right) {
  int wrong = 0;
  for (int salt = 0; salt < launches; ++salt) {
    std::vector<int> out(right.size());
    EXPECT_TRUE(
        launch({.block = dim3(64),
                .schedule = Schedule::Of(order, static_cast<unsigned>(salt))},
               kernel, out.data())
            .ok());
    wrong += out != right;
  }
  return wrong;
}

TEST(MissingBarrier, ShowsInTheOutput) {
  std::vector<int> exchanged(64);
  for (int t = 0; t < 64; ++t) exchanged[t] = 2 * (t ^ 31) + 1;
  const std::vector<int> fives(32, 5);
  for (LaneOrder order : {LaneOrder::kInOrder, LaneOrder::kReverse,
                          LaneOrder::kStickyWarp, LaneOrder::kRandom}) {
    const auto wrong = [&](void (*kernel)(int*),
                           const std::vector<int>& right) {
      return WrongRuns(kernel, order, 100, right);
    };
    EXPECT_EQ(wrong(WarpExchange<kNothing>, exchanged), 0);
    EXPECT_EQ(wrong(WarpExchange<kFirst>, exchanged), 100);
    EXPECT_EQ(wrong(WarpExchange<kSecond>, exchanged), 100);
    EXPECT_EQ(wrong(HighToLow<true>, fives), 0);
    EXPECT_EQ(wrong(LowToHigh<true>, fives), 0);
  }
  // Producer and consumer in different warps: only some orders tell.
  EXPECT_EQ(WrongRuns(LowToHigh<false>, LaneOrder::kInOrder, 1, fives), 0);
  EXPECT_EQ(WrongRuns(LowToHigh<false>, LaneOrder::kReverse, 1, fives), 1);
  EXPECT_EQ(WrongRuns(HighToLow<false>, LaneOrder::kInOrder, 1, fives), 1);
  EXPECT_EQ(WrongRuns(HighToLow<false>, LaneOrder::kReverse, 1, fives), 0);
  EXPECT_NEAR(WrongRuns(LowToHigh<false>, LaneOrder::kStickyWarp, 1000, fives),
              500, 80);
  EXPECT_GT(WrongRuns(LowToHigh<false>, LaneOrder::kRandom, 100, fives), 95);
}

}  // namespace
}  // namespace mlafuzz::simt
