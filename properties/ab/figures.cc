#include "properties/ab/figures.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {
namespace {

double Bf16Value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

absl::Status WhatWentWrong(const Target& target, const StepObservation& seen) {
  if (seen.status != CallStatus::kOk) {
    return absl::FailedPreconditionError(
        absl::StrCat(target.name(), ": the decode ended with ",
                     CallStatusName(seen.status), ": ", seen.message));
  }
  if (!seen.reports.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(target.name(), ": ", seen.reports[0]));
  }
  if (!seen.strays.empty() || seen.pool.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(target.name(), ": the decode wrote outside its outputs"));
  }
  return absl::OkStatus();
}

}  // namespace

AbReference MakeAbReference(const AbCache& cache) {
  Contract contract = BuiltinContract();
  contract.mutable_qk()->set_scale_rule(ReaderSide::SCALE_RAW);
  contract.mutable_v()->set_scale_rule(ReaderSide::SCALE_RAW);
  contract.mutable_decode()->set_lse_base(DecodeContract::BASE_E);
  Arithmetic& arithmetic = *contract.mutable_arithmetic();
  arithmetic.Clear();
  arithmetic.set_dequantised(Arithmetic::DEQUANTISED_FP32);
  arithmetic.set_query(Arithmetic::QUERY_BF16);
  arithmetic.set_weights(Arithmetic::WEIGHTS_FP32);
  arithmetic.set_partials(Arithmetic::PARTIALS_FP32);
  arithmetic.set_accumulator(Arithmetic::IEEE_FP32);
  arithmetic.set_denormals(Arithmetic::DENORMALS_KEPT);
  // The centres of these bounds: no rounding is simulated but that of K and V.
  DecodeExpectation exact =
      ExpectDecode(contract, cache.image(), 0, cache.image().pool.bytes);
  return {std::move(exact.out), std::move(exact.lse)};
}

absl::StatusOr<AbFigures> MeasureDecode(const AbCache& cache,
                                        const AbReference& reference,
                                        const TargetSet& targets,
                                        Executor& executor) {
  std::vector<Observation> seen;
  if (absl::Status s = executor.Run(targets, {&cache.image(), 1}, &seen);
      !s.ok()) {
    return s;
  }
  const Target& target = *targets.For(Kernel::kDecode);
  if (absl::Status s = WhatWentWrong(target, seen[0].steps[0]); !s.ok()) {
    return s;
  }
  const oracle::ObservedRows rows(cache.image().steps[0], seen[0].steps[0]);
  if (!rows.well_formed()) {
    return absl::InternalError("the observation's buffers have other sizes");
  }
  const double base =
      target.contract().decode().lse_base() == DecodeContract::BASE_E
          ? 1
          : std::numbers::ln2;
  AbFigures figures;
  double error = 0, got_square = 0, square = 0, product = 0;
  for (std::size_t row = 0; row < reference.lse.size(); ++row) {
    const auto r = static_cast<std::int64_t>(row);
    const double lse_error = std::fabs(rows.Lse(r) * base - reference.lse[row]);
    // A NaN stays.
    if (!(lse_error <= figures.lse_error)) figures.lse_error = lse_error;
    for (int c = 0; c < kDecodeColumns; ++c) {
      const double want =
          reference.out[row * kDecodeColumns + static_cast<std::size_t>(c)];
      const double got = Bf16Value(rows.Out(r, c));
      error += (got - want) * (got - want);
      got_square += got * got;
      square += want * want;
      product += got * want;
    }
  }
  if (!std::isfinite(got_square)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return AbFigures{kNan, kNan, figures.lse_error};
  }
  figures.relative_l2 = std::sqrt(error / square);
  figures.cosine = product / std::sqrt(got_square * square);
  return figures;
}

}  // namespace mlafuzz
