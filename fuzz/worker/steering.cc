#include "fuzz/worker/steering.h"

#include <algorithm>
#include <cstddef>

#include "properties/fields.h"

namespace mlafuzz {
namespace {

// A weight of 1; the largest is 64 of it, so that no field's turn ever ends.
constexpr std::uint64_t kUnit = 16;
constexpr std::uint64_t kMost = 64 * kUnit;

}  // namespace

std::vector<std::uint32_t> SteeringWeights(const WorkerStatus& status) {
  const std::vector<Field>& fields = AllFields();
  std::vector<std::uint32_t> weights(fields.size(), 1);
  for (std::size_t i = 0; i < fields.size() && i < kMaxFields; ++i) {
    const std::uint64_t steps =
        status.power_steps[static_cast<std::size_t>(fields[i].kernel)];
    // Integers: the same on every machine.
    const std::uint64_t weight =
        kUnit * (steps + 2) * (status.made_informative[i] + 1) /
        ((status.power[i] + 1) * (status.made_sampled[i] + 2));
    weights[i] =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(weight, 1, kMost));
  }
  return weights;
}

}  // namespace mlafuzz
