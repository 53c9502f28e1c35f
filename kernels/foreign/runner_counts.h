#ifndef MLAFUZZ_KERNELS_FOREIGN_RUNNER_COUNTS_H_
#define MLAFUZZ_KERNELS_FOREIGN_RUNNER_COUNTS_H_

#include <array>
#include <cstdint>

#include "kernels/foreign/wire.h"

namespace mlafuzz {

// What runs of foreign targets have cost.
struct RunnerCounts {
  std::uint64_t starts = 0;
  std::uint64_t deaths = 0;
  // Between asking and answer, and of that in the target's own code, where the
  // runner tells: the rest is what the bridge costs.
  double exchange_seconds = 0;
  double busy_seconds = 0;
  // Of exchanges with devices, by wire::kStage*, and the rates of their memory
  // in bytes a second; 0 unless $MLAFUZZ_STAGE_TIMES is set.
  std::array<double, wire::kStages> stage_seconds = {};
  double device_rate = 0;
  double in_rate = 0;
  double out_rate = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_RUNNER_COUNTS_H_
