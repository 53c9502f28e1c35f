#include "oracle/decode/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/decode/contract_rules.h"
#include "oracle/decode/rounding.h"
#include "oracle/decode/values.h"
#include "oracle/decode/wide.h"
#include "oracle/device/codes.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

void QuantiseTile(bool declared, int columns, double* value, double* radius,
                  QueryHead* out) {
  double amax = 0;  // NaN does not count
  for (int i = 0; i < columns; ++i) {
    amax = std::max(amax, std::isnan(value[i]) ? 0.0 : std::fabs(value[i]));
  }
  if (std::isinf(amax)) {
    out->unknown = true;
    return;
  }
  const double scale = QueryScale(amax);
  for (int i = 0; i < columns; ++i) {
    const double quantised = QuantisedQuery(value[i], scale);
    if (declared) {
      value[i] = quantised;
    } else if (quantised != value[i]) {
      radius[i] = std::fabs(quantised - value[i]);
      out->has_radius = true;
    }
  }
}

// The parts of sum q k and of sum |q k| over `n` columns, n a multiple of
// kDotParts.
MLAFUZZ_ORACLE_WIDE void AddTerms(const double* q, const double* k, int n,
                                  double* sum, double* magnitude) {
  double sums[kDotParts] = {};
  double magnitudes[kDotParts] = {};
  for (int i = 0; i < n; i += kDotParts) {
    for (int l = 0; l < kDotParts; ++l) {
      AddTerm(q[i + l], k[i + l], &sums[l], &magnitudes[l]);
    }
  }
  for (int l = 0; l < kDotParts; ++l) {
    sum[l] = sums[l];
    magnitude[l] = magnitudes[l];
  }
}

DotSums Dot(const double* q, const double* k, int n) {
  double sum[kDotParts];
  double magnitude[kDotParts];
  AddTerms(q, k, n, sum, magnitude);
  DotSums total;
  for (int l = 0; l < kDotParts; ++l) {
    total.sum += sum[l];
    total.magnitude += magnitude[l];
  }
  return total;
}

// sum |q| r.
double RadiusSum(const double* q, const double* radius, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    if (radius[i] != 0) sum += std::fabs(q[i]) * radius[i];
  }
  return std::isnan(sum) ? kInfinity : sum;
}

// What a wrong kernel takes of a query.
void TakePart(const ExpectOptions& options, const ValueTiles& tiles,
              QueryHead* out) {
  using Part = ExpectOptions::Query;
  const auto drop = [&](int first, int end) {
    std::fill(out->value + first, out->value + end, 0.0);
    std::fill(out->radius + first, out->radius + end, 0.0);
  };
  constexpr int kHalf = kRope / 2;
  if (options.no_tile >= 0 && options.no_tile < tiles.scaled) {
    drop(tiles.columns * options.no_tile,
         tiles.columns * (options.no_tile + 1));
  }
  const int rope = tiles.rope_at();
  if (out->columns < rope + kRope) return;
  switch (options.query) {
    case Part::kAll:
      return;
    case Part::kNoRope:
      drop(rope, rope + kRope);
      return;
    case Part::kFirstHalfOfRope:
      drop(rope + kHalf, rope + kRope);
      return;
    case Part::kRopeHalvesSwapped:
      std::swap_ranges(out->value + rope, out->value + rope + kHalf,
                       out->value + rope + kHalf);
      return;
  }
}

}  // namespace

std::int64_t QueryLength(const StepImage& step) {
  return std::max<std::int64_t>(1, step.step->decode().query_length());
}

QueryShape QueryShapeOf(const DecodeContract& contract, const RowLayout& layout,
                        const Tensor& q) {
  const DecodeContract::NopeTail rule = contract.nope_tail();
  // A row has rope behind its values, or among them, or none.
  const bool beyond =
      layout.rope == kRope && TilesOf(layout).rope_at() == kLatent;
  const bool tail = beyond && q.shape[2] == kLatent &&
                    rule != DecodeContract::NOPE_TAIL_IGNORED;
  return {
      .columns = beyond && (tail || q.shape[2] >= kQueryColumns) ? kQueryColumns
                                                                 : kLatent,
      // Back from the end of the latent.
      .back =
          tail && rule == DecodeContract::NOPE_TAIL_MEETS_QUERY_END ? kRope : 0,
  };
}

void ReadQuery(const Contract& contract, const RowLayout& layout,
               const StepImage& step, std::int64_t query, std::int64_t head,
               const ExpectOptions& options, QueryHead* out) {
  const ValueTiles tiles = TilesOf(layout);
  const Tensor& q = *step.Find(TensorId::kQ);
  const Storage<std::uint16_t> storage(&q);
  const std::int64_t at = options.dense_query
                              ? (query * q.shape[1] + head) * q.shape[2]
                              : query * q.strides[0] + head * q.strides[1];
  const QueryShape shape = QueryShapeOf(contract.decode(), layout, q);
  out->columns = shape.columns;
  out->has_radius = false;
  out->unknown = false;
  std::fill_n(out->radius, kQueryColumns, 0.0);
  for (int i = 0; i < out->columns; ++i) {
    const int column = i < kLatent ? i : i - shape.back;
    const std::int64_t element =
        column < q.shape[2] ? at + column * q.strides[2] : at + column;
    if (!storage.Has(element)) {
      out->unknown = true;
      out->value[i] = 0;
      continue;
    }
    out->value[i] = Bf16FromBits(storage[element]);
  }
  const Arithmetic::Query mode = contract.arithmetic().query();
  if (mode != Arithmetic::QUERY_BF16) {
    for (int t = 0; t < tiles.scaled; ++t) {
      QuantiseTile(mode == Arithmetic::QUERY_E4M3, tiles.columns,
                   out->value + tiles.columns * t,
                   out->radius + tiles.columns * t, out);
    }
  }
  TakePart(options, tiles, out);
  out->facts = QueryFacts();
  for (int i = 0; i < out->columns; ++i) {
    out->facts.Add(out->value[i], out->radius[i]);
  }
}

void ComputeScores(const Contract& contract, const Caches& caches,
                   const Dequantisers& dequantisers, const StepImage& step,
                   absl::Span<const QueryHead> heads, const KeyPlan& plan,
                   const KeyRange& range, DequantisedRows* rows,
                   std::vector<HeadScores>* scores) {
  const ArithmeticRules arithmetic = RulesOf(contract.arithmetic());
  const ErrorModel errors(arithmetic);
  const LogitRules logit = LogitRulesOf(
      arithmetic, dequantisers.keys.rules(),
      std::bit_cast<float>(step.step->decode().softmax_scale_bits()));
  const bool has_tail = !heads.empty() && heads[0].columns == kQueryColumns;
  for (HeadScores& head : *scores) head.sentinel = logit.sentinel;

  TokenBytes buffer;
  rows->count = 0;
  for (int first = range.first; first < range.end;) {
    const int count = std::min(DequantisedRows::kChunk, range.end - first);
    if (rows->count == 0 || rows->count + count > DequantisedRows::kCapacity) {
      rows->first = first;
      rows->count = 0;
    }
    const int at = rows->count;  // of the chunk
    rows->count += count;
    for (int i = 0; i < count; ++i) {
      const Key& key = plan.keys[first + i];
      RowFacts& facts = rows->facts[at + i];
      if (key.at < 0) {
        facts = {.unknown = true};
        std::fill_n(rows->value[at + i], kQueryColumns, 0.0);
        continue;
      }
      const std::uint8_t* token = caches.Token(key, &buffer);
      facts = dequantisers.KeysOf(key).Row(token, rows->value[at + i],
                                           rows->radius[at + i]);
      if (has_tail) {
        const RowFacts rope =
            ReadRope(token + caches.layout().rope_at, facts.granule != 0,
                     rows->value[at + i] + kLatent);
        facts.granule = std::min(facts.granule, rope.granule);
        facts.finite &= rope.finite;
      }
    }
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const QueryHead& head = heads[h];
      const double sum_error = errors.Sum(head.facts.nonzero, head.columns,
                                          logit.rounded, logit.fp8);
      for (int i = 0; i < count; ++i) {
        double& t = (*scores)[h].t[first + i];
        double& radius = (*scores)[h].radius[first + i];
        const RowFacts& facts = rows->facts[at + i];
        const double* const key = rows->value[at + i];
        if (head.unknown || facts.unknown) {
          t = 0;
          radius = kInfinity;
          continue;
        }
        const DotSums exact = Dot(head.value, key, head.columns);
        if (std::isnan(exact.sum)) {
          // Only NaN, 0 * Inf or Inf - Inf of exact inputs come here; a radius
          // there may hide that the input is none.
          t = exact.sum;
          radius = facts.has_radius || head.has_radius ? kInfinity : 0;
          continue;
        }
        if (MayOverflow(logit, head.facts, exact)) {
          t = exact.sum * logit.to_base_2;
          radius = kInfinity;
          continue;
        }
        const double centre =
            logit.mma_bits == 0
                ? exact.sum
                : MmaDot(
                      head.value, [key](int c) { return key[c]; }, head.columns,
                      logit.mma_bits);
        double inputs = 0;
        if (facts.has_radius) {
          inputs += RadiusSum(head.value, rows->radius[at + i], kLatent);
        }
        if (head.has_radius) {
          inputs += RadiusSum(key, head.radius, kLatent);
          if (facts.has_radius) {
            inputs += RadiusSum(head.radius, rows->radius[at + i], kLatent);
          }
        }
        const Bounded of = LogitOf(logit, errors, sum_error, head.facts, facts,
                                   exact, centre, inputs);
        t = of.value;
        radius = of.radius;
      }
    }
    first += count;
  }
}

}  // namespace mlafuzz::oracle
