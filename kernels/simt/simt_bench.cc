// What a launch and a lane operation cost. No arguments.
//
//   bazel run -c opt //kernels/simt:simt_bench     (or --config=asan)

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/simt/simt.h"

namespace mlafuzz::simt {
namespace {

constexpr unsigned kAll = 0xffffffffu;

__global__ void Empty(float*) {}

__global__ void Barriers(float*) {
  for (int i = 0; i < 32; ++i) __syncthreads();
}

template <int kShuffles>
__global__ void Shuffles(float* out) {
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < kShuffles; ++i) {
    v = fmaxf(v, __shfl_xor_sync(kAll, v, 8 >> (i & 3), 16));
  }
  out[threadIdx.x] = v;
}

__global__ void Fault(float*) {
  if (threadIdx.x != 7) __syncthreads();
  if (threadIdx.x == 7) __syncwarp();
}

// Median microseconds of one launch.
double Measure(void (*kernel)(float*), unsigned lanes, LaneOrder order) {
  using Clock = std::chrono::steady_clock;
  static float out[1024];
  std::vector<double> rounds;
  std::uint64_t salt = 1;
  for (int round = 0; round < 15; ++round) {
    constexpr int kLaunches = 1000;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      (void)launch(
          {.block = dim3(lanes), .schedule = Schedule::Of(order, salt++)},
          kernel, out);
    }
    const std::chrono::duration<double, std::micro> spent =
        Clock::now() - start;
    rounds.push_back(spent.count() / kLaunches);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 7, rounds.end());
  return rounds[7];
}

void Report(const char* name, void (*kernel)(float*), unsigned lanes,
            int ops_per_lane) {
  const double in_order = Measure(kernel, lanes, LaneOrder::kInOrder);
  const double random = Measure(kernel, lanes, LaneOrder::kRandom);
  std::printf("%-28s %9.2f us %9.2f us", name, in_order, random);
  if (ops_per_lane > 0) {
    const double ops = static_cast<double>(lanes) * ops_per_lane;
    std::printf("  %6.1f ns %6.1f ns each lane-op", in_order * 1000 / ops,
                random * 1000 / ops);
  }
  std::printf("\n");
}

int Main() {
  std::printf("%-28s %12s %12s\n", "", "in order", "random");
  Report("empty kernel, 96 lanes", Empty, 96, 0);
  Report("empty kernel, 1024 lanes", Empty, 1024, 0);
  Report("4 shuffles, 96 lanes", Shuffles<4>, 96, 4);
  Report("32 shuffles, 128 lanes", Shuffles<32>, 128, 32);
  Report("32 barriers, 128 lanes", Barriers, 128, 32);
  Report("deadlock, 96 lanes", Fault, 96, 0);
  return 0;
}

}  // namespace
}  // namespace mlafuzz::simt

int main() { return mlafuzz::simt::Main(); }
