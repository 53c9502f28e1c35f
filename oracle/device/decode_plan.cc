#include "oracle/device/decode_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "oracle/decode/contract_rules.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/scores.h"
#include "oracle/decode/values.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// A stretch of a token that is read by its first byte.
bool InOnePart(const RowLayout& layout, int begin, int end) {
  return end <= layout.row_part || begin >= layout.row_part;
}

}  // namespace

std::optional<DecodeRules> DecodeRulesOf(const Contract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const Tensor* const q = step.Find(TensorId::kQ);
  const Tensor* const out = step.Find(TensorId::kAttention);
  const Tensor* const lse = step.Find(TensorId::kLse);
  if (q == nullptr || out == nullptr || lse == nullptr || !IsDecoded(layout) ||
      ExtraIndices(contract.decode(), step) != nullptr ||
      !InOnePart(layout, layout.codes_at, layout.codes_at + layout.codes) ||
      !InOnePart(layout, layout.scales_at, layout.scales_end()) ||
      !InOnePart(layout, layout.rope_at, layout.rope_end())) {
    return std::nullopt;
  }
  const ArithmeticRules arithmetic = RulesOf(contract.arithmetic());
  const float scale =
      std::bit_cast<float>(step.step->decode().softmax_scale_bits());
  if (arithmetic.query == ArithmeticRules::Query::kUnknown ||
      arithmetic.dequantised == ArithmeticRules::Dequantised::kUnknown ||
      !(scale >= static_cast<float>(kFp32MinNormal)) || !std::isfinite(scale)) {
    return std::nullopt;
  }
  const Dequantiser keys = KeyDequantiser(contract, layout, {});
  const Dequantiser values = ValueDequantiser(contract, layout, {});
  const ValueTiles tiles = TilesOf(layout);
  const QueryShape shape = QueryShapeOf(contract.decode(), layout, *q);
  return DecodeRules{
      .arithmetic = arithmetic,
      .result = RulesOf(contract.decode()),
      .logit = LogitRulesOf(arithmetic, keys.rules(), scale),
      .key_values = keys.rules(),
      .values = values.rules(),
      .key_side = keys.side(),
      .value_side = values.side(),
      .reads_rope = values.reads_rope(),
      .may_flush = !arithmetic.kept(),
      .unit_weights =
          contract.decode().empty_row() == DecodeContract::UNIT_WEIGHTS,
      .codes_at = layout.codes_at,
      .scales_at = layout.scales_at,
      .rope_at = layout.rope_at,
      .row_part = layout.row_part,
      .byte_scales = layout.scale_kind == RowLayout::Scales::kUe8m0,
      .tile_columns = tiles.columns,
      .tiles = tiles.count,
      .scaled = tiles.scaled,
      .heads = static_cast<std::int32_t>(q->shape[1]),
      .query_columns = shape.columns,
      .query_back = shape.back,
      .q_width = q->shape[2],
      .q_strides = {q->strides[0], q->strides[1], q->strides[2]},
      .out_strides = {out->strides[0], out->strides[1], out->strides[2]},
      .lse_strides = {lse->strides[0], lse->strides[1]},
      .sinks = DecodeRules::kNoSinks,
  };
}

bool DecodePlan::Add(const Contract& contract, const DecodeRules& rules,
                     const PoolImage& pool, const StepImage& step,
                     const DecodePlace& place) {
  const Tensor& q = *step.Find(TensorId::kQ);
  const Tensor* const sinks = step.Find(TensorId::kSinks);
  // Fewer sinks than heads are sinks of some.
  if (sinks != nullptr && sinks->shape[0] < rules.heads) return false;
  const std::size_t had_queries = queries.size(), had_keys = keys.size();
  const std::size_t had_blocks = blocks.size(), had_splits = splits.size();
  const Caches caches(pool, pool.bytes, step);
  const auto add = [&](const Key& key) {
    keys.push_back({place.pool + static_cast<std::uint64_t>(key.at),
                    place.pool + static_cast<std::uint64_t>(key.behind)});
  };
  for (std::int64_t n = 0; n < q.shape[0]; ++n) {
    const KeyPlan plan = PlanKeys(contract, pool, step, n, {});
    const bool outside = std::any_of(plan.keys.begin(), plan.keys.end(),
                                     [](const Key& key) { return key.at < 0; });
    if (outside || LeadingNanOf(contract.decode(), plan) != LeadingNan::kNo) {
      queries.resize(had_queries);
      keys.resize(had_keys);
      blocks.resize(had_blocks);
      splits.resize(had_splits);
      return false;
    }
    DecodeQuery& query = queries.emplace_back();
    query = {
        .q = place.q,
        .q_elements = place.q_elements,
        .out = place.out +
               2 * static_cast<std::uint64_t>(n * rules.out_strides[0]),
        .lse = place.lse +
               4 * static_cast<std::uint64_t>(n * rules.lse_strides[0]),
        .number = n,
        .first_key = static_cast<std::uint32_t>(keys.size()),
        .keys = static_cast<std::uint32_t>(plan.keys.size()),
        .first_block = static_cast<std::uint32_t>(blocks.size()),
        .blocks = 0,
        .first_split = static_cast<std::uint32_t>(splits.size()),
        .splits = static_cast<std::uint32_t>(plan.splits.size()),
        .masked = 0,
        .known = plan.known,
    };
    for (const Key& key : plan.keys) add(key);
    const Key slot0 = caches.Slot0(/*extra=*/false);
    if (ReadsSlot0(contract.decode()) && plan.masked > 0 && slot0.at >= 0) {
      query.masked = static_cast<std::uint32_t>(plan.masked);
      add(slot0);
    }
    for (const KeyPlan::Split& split : plan.splits) {
      splits.push_back({.keys = split.keys,
                        .first_block = static_cast<std::int32_t>(query.blocks),
                        .blocks = 0});
      for (const KeyRange& block : split.blocks) {
        if (block.first == block.end) continue;
        blocks.push_back(block);
        ++splits.back().blocks;
        ++query.blocks;
      }
    }
  }
  return true;
}

DecodeMost DecodePlan::Most(const DecodeRules& rules) const {
  DecodeMost most;
  for (const DecodeQuery& query : queries) {
    most.keys = std::max(most.keys, query.keys + 1);
    most.blocks = std::max(most.blocks, query.blocks);
    most.splits = std::max(most.splits, query.splits);
  }
  if (rules.arithmetic.scale_in_weights()) {
    most.weight_tiles = static_cast<std::uint32_t>(rules.tiles);
  }
  return most;
}

}  // namespace mlafuzz::oracle
