#include "properties/bounds/bound_ratio.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {
namespace {

double Value(std::uint16_t bf16) {
  return std::bit_cast<float>(std::uint32_t{bf16} << 16);
}

// Halfway between a word and its neighbour `by` steps of magnitude away.
double Halfway(std::uint16_t magnitude, int by) {
  const double here = Value(magnitude);
  const auto neighbour = static_cast<std::uint16_t>(magnitude + by);
  // Past the largest number the next one would be twice the last step away.
  if (neighbour >= 0x7f80) {
    return here + (here - Value(static_cast<std::uint16_t>(magnitude - 1))) / 2;
  }
  return (here + Value(neighbour)) / 2;
}

}  // namespace

double DistanceToWord(double value, std::uint16_t bits) {
  const auto magnitude = static_cast<std::uint16_t>(bits & 0x7fff);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const double high = Halfway(magnitude, 1);
  // A zero of either sign stands for numbers on both sides.
  const double low = magnitude == 0 ? -high : Halfway(magnitude, -1);
  const double x = sign * value;
  return std::max({0.0, x - high, low - x});
}

absl::StatusOr<BoundRatio> MeasureBoundRatio(const TargetSet& targets,
                                             Executor& executor,
                                             const Case& c) {
  absl::StatusOr<CaseImage> image = BuildImage(c);
  if (!image.ok()) return image.status();
  std::vector<Observation> observations;
  if (absl::Status s = executor.Run(targets, {&*image, 1}, &observations);
      !s.ok()) {
    return s;
  }
  if (observations[0].steps.empty() ||
      observations[0].steps[0].status != CallStatus::kOk) {
    return absl::FailedPreconditionError(
        observations[0].steps.empty() ? "the call did not return"
                                      : observations[0].steps[0].message);
  }
  const Contract& contract =
      targets.targets[static_cast<std::size_t>(Kernel::kDecode)]->contract();
  const DecodeExpectation expected =
      ExpectDecode(contract, *image, 0, image->pool.bytes);
  const oracle::ObservedRows rows(image->steps[0], observations[0].steps[0]);
  if (!rows.well_formed()) {
    return absl::FailedPreconditionError("outputs of another size");
  }
  BoundRatio ratio;
  const auto take = [&ratio](double value, double bound, double distance,
                             double* most) {
    if (!std::isfinite(value) || !std::isfinite(bound)) {
      ++ratio.open;
    } else if (distance > 0) {
      // Without a bound nothing but the value itself is right.
      *most = std::max(*most, distance / bound);
    }
  };
  for (std::int64_t row = 0; row < expected.rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const double lse = rows.Lse(row);
    take(expected.lse[at], expected.lse_bound[at],
         std::isfinite(lse) ? std::fabs(lse - expected.lse[at]) : INFINITY,
         &ratio.lse);
    for (int column = 0; column < kDecodeColumns; ++column) {
      const auto element =
          static_cast<std::size_t>(row * kDecodeColumns + column);
      const std::uint16_t bits = rows.Out(row, column);
      take(expected.out[element], expected.out_bound[element],
           (bits & 0x7f80) == 0x7f80
               ? INFINITY
               : DistanceToWord(expected.out[element], bits),
           &ratio.out);
    }
  }
  return ratio;
}

}  // namespace mlafuzz
