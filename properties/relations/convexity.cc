#include "properties/relations/convexity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

// The smallest and largest value of each column over the keys of a row; NaN
// where some value is not finite, or not known.
struct Hull {
  std::array<double, kDecodeColumns> low;
  std::array<double, kDecodeColumns> high;
};

Hull HullOf(const Contract& contract, const oracle::Caches& caches,
            const oracle::KeyPlan& plan) {
  // The product of code and scale, whichever of them meets the weight.
  Arithmetic arithmetic = contract.arithmetic();
  if (arithmetic.dequantised() == Arithmetic::DEQUANTISED_CODES) {
    arithmetic.set_dequantised(Arithmetic::DEQUANTISED_FP32);
  }
  const oracle::Dequantiser dequantiser(
      caches.layout(), contract.v(), arithmetic, false,
      {.read = contract.decode().rope_values() !=
               DecodeContract::ROPE_NOT_IN_VALUES});
  oracle::TokenBytes buffer;
  Hull hull;
  hull.low.fill(std::numeric_limits<double>::infinity());
  hull.high.fill(-std::numeric_limits<double>::infinity());
  double values[oracle::kLatent], radius[oracle::kLatent];
  for (const oracle::Key& key : plan.keys) {
    const oracle::RowFacts facts =
        key.at < 0
            ? oracle::RowFacts{.unknown = true}
            : dequantiser.Row(caches.Token(key, &buffer), values, radius);
    for (int c = 0; c < kDecodeColumns; ++c) {
      if (facts.unknown || !std::isfinite(values[c])) {
        hull.low[c] = hull.high[c] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      if (std::isnan(hull.low[c])) continue;
      const double r = facts.has_radius ? radius[c] : 0;
      hull.low[c] = std::min(hull.low[c], values[c] - r);
      hull.high[c] = std::max(hull.high[c], values[c] + r);
    }
  }
  return hull;
}

}  // namespace

bool Convexity::Applies(const Contract& contract, const CaseImage& image,
                        const StepImage& step) {
  return HasKeys(contract, image, step);
}

absl::Status Convexity::Run(StepContext& context, Finding* finding) {
  Contract contract = context.contract();
  const oracle::ObservedRows rows(context.step, context.plain);
  if (!rows.well_formed()) {
    *finding = {Verdict::kProtocol,
                "the observation's buffers have other sizes than the case's"};
    return absl::OkStatus();
  }
  const bool sinks = context.step.Find(TensorId::kSinks) != nullptr;
  contract.mutable_arithmetic()->clear_block();
  const DecodeExpectation mean =
      ExpectDecode(contract, context.image, context.index, context.pool_before);
  bool open = true;
  for (std::int64_t query = 0; query < mean.queries; ++query) {
    const oracle::KeyPlan plan =
        oracle::PlanKeys(contract, context.image.pool, context.step, query, {});
    if (plan.keys.empty()) continue;
    const Hull hull = HullOf(
        contract,
        oracle::Caches(context.image.pool, context.pool_before, context.step),
        plan);
    for (std::int64_t head = 0; head < mean.heads; ++head) {
      const std::int64_t row = query * mean.heads + head;
      for (int c = 0; c < kDecodeColumns; ++c) {
        const std::size_t at =
            static_cast<std::size_t>(row * kDecodeColumns + c);
        const double bound = mean.out_bound[at];
        if (std::isinf(bound) || !std::isfinite(mean.out[at]) ||
            std::isnan(hull.low[c])) {
          continue;
        }
        open = false;
        const double low = sinks ? std::min(0.0, hull.low[c]) : hull.low[c];
        const double high = sinks ? std::max(0.0, hull.high[c]) : hull.high[c];
        const Preimage out = RoundsTo(rows.Out(row, c), mean.may_flush);
        if (out.high >= low - bound && out.low <= high + bound) continue;
        *finding = Finding::Fail(absl::StrFormat(
            "attention[%d, %d, %d]: %.9g lies outside its keys' values, %.9g "
            "to %.9g, by more than %.3g",
            query, head, c, oracle::Bf16Value(rows.Out(row, c)), low, high,
            bound));
        return absl::OkStatus();
      }
    }
  }
  if (open) {
    *finding = {Verdict::kUninformative,
                "the contract leaves every value open"};
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
