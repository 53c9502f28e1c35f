#include "fuzz/testing/overflow_kernel.h"

#include <limits>

#include "kernels/simt/simt.h"

namespace mlafuzz {
namespace {

__global__ void AddUp(int* sum) {
  *sum += std::numeric_limits<int>::max() / 2 + 1;
}

}  // namespace

void LaunchOverflow(int tokens) {
  int sum = 0;
  simt::Config config;
  config.grid = dim3(1);
  config.block = dim3(static_cast<unsigned>(tokens));
  (void)simt::launch(config, AddUp, &sum);
}

}  // namespace mlafuzz
