#include "oracle/device/write_rules.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "oracle/expect_parts.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

std::optional<WriteRules> WriteRulesOf(const WriterContract& contract,
                                       const PoolImage& pool,
                                       const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const Tensor* const kv_c = step.Find(TensorId::kKvC);
  const Tensor* const k_pe = step.Find(TensorId::kKPe);
  if (kv_c == nullptr || DTypeSize(kv_c->dtype) != 2 ||
      kv_c->shape[1] != layout.codes) {
    return std::nullopt;
  }
  WriteRules rules = {
      .half = kv_c->dtype == F16,
      .raw_fp16 = contract.fp16_amax() == WriterContract::FP16_RAW_BITS,
      .pow2 = contract.scale() == WriterContract::POW2_CEIL,
      .reciprocal =
          contract.scale_division() == WriterContract::TIMES_RECIPROCAL,
      .code_reciprocal =
          contract.code_division() == WriterContract::CODE_RECIPROCAL,
      .floor_on_amax = contract.floor() == WriterContract::FLOOR_ON_AMAX,
      .floor_on_scale = contract.floor() == WriterContract::FLOOR_ON_SCALE,
      .toward_zero = contract.code_rounding() == WriterContract::TOWARD_ZERO,
      .through_fp16 = contract.code_rounding() == WriterContract::THROUGH_FP16,
      .nan_minus_448 = contract.nan() == WriterContract::NAN_TO_MINUS_448,
      .nan_poisons = contract.nan() == WriterContract::NAN_POISONS_SCALE,
      .inf_saturates = contract.inf() == WriterContract::INF_SATURATES,
      .zero_positive =
          contract.negative_zero() == WriterContract::NEGATIVE_ZERO_POSITIVE,
      .ue8m0 = layout.scale_kind == RowLayout::Scales::kUe8m0,
      .floor = std::bit_cast<float>(contract.floor_bits()),
      .codes_at = layout.codes_at,
      .tile = layout.tile,
      .tiles = layout.tiles(),
      .scales_at = layout.scales_at,
      .scale_bytes = layout.scale_bytes,
      .row_part = layout.row_part,
      .zero_begin = 0,
      .zero_end = 0,
      .rope_at = layout.rope_at,
      .rope = 0,
  };
  const bool footer = layout.row_part != layout.row_bytes;
  if (footer) {
    rules.zero_begin = layout.scales_end();
    rules.zero_end = layout.row_bytes;
  }
  if (layout.rope == 0) return rules;
  const std::int64_t pe_dim = k_pe == nullptr ? 0 : k_pe->shape[1];
  if (pe_dim != 0) {
    rules.rope =
        static_cast<std::int32_t>(std::min<std::int64_t>(pe_dim, layout.rope));
  } else if (contract.tail() != WriterContract::TAIL_UNCHANGED) {
    if (footer) return std::nullopt;
    rules.zero_begin = layout.rope_at;
    rules.zero_end = layout.rope_end();
  }
  return rules;
}

std::optional<StandingRows> StandingRowsOf(const WriterContract& contract,
                                           const PoolImage& pool,
                                           const StepImage& step) {
  WritePlan plan = PlanWrites(contract, pool, step);
  if (plan.outside != 0 ||
      (plan.repeated &&
       contract.duplicates() == WriterContract::DUPLICATES_RACE)) {
    return std::nullopt;
  }
  StandingRows standing;
  standing.written = static_cast<std::int64_t>(plan.rows.size()) *
                     WrittenRowBytes(contract, pool, step);
  if (!plan.repeated) {
    standing.rows = std::move(plan.rows);
    return standing;
  }
  std::unordered_map<std::int64_t, std::size_t> last;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) last[plan.rows[i].at] = i;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    if (last[plan.rows[i].at] == i) standing.rows.push_back(plan.rows[i]);
  }
  return standing;
}

}  // namespace mlafuzz::oracle
