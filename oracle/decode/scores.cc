#include "oracle/decode/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/decode/rounding.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// 2^ceil(log2(max(amax, 1e-4) / 448)), the scale of a quantised query.
double QueryScale(double amax) {
  const float scale = std::max(static_cast<float>(amax), 1e-4f) / 448.0f;
  int exponent;
  const float fraction = std::frexp(scale, &exponent);
  return std::ldexp(1.0, fraction == 0.5f ? exponent - 1 : exponent);
}

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
    const double quantised = RoundE4m3(value[i] / scale) * scale;
    if (declared) {
      value[i] = quantised;
    } else if (quantised != value[i]) {
      radius[i] = std::fabs(quantised - value[i]);
      out->has_radius = true;
    }
  }
}

struct Sums {
  double sum = 0;
  double magnitude = 0;
};

// sum q k and sum |q k| over `n` columns, n a multiple of 8.
Sums Dot(const double* q, const double* k, int n) {
  double sum[8] = {};
  double magnitude[8] = {};
  for (int i = 0; i < n; i += 8) {
    for (int l = 0; l < 8; ++l) {
      const double term = q[i + l] * k[i + l];
      sum[l] += term;
      magnitude[l] += std::fabs(term);
    }
  }
  Sums total;
  for (int l = 0; l < 8; ++l) {
    total.sum += sum[l];
    total.magnitude += magnitude[l];
  }
  return total;
}

// sum q k as Hopper's tensor cores form it: 16 products a step, in column
// order; a step aligns them and the accumulator to the largest of all, cuts
// each after `bits` significant bits of that and the result after fp32's 24.
// Which of the orders is taken matters for nothing but the centre of the
// interval; this one with 26 bits predicts FlashMLA's recorded LSE 20 times as
// well as the exact sum. Finite terms, n a multiple of 16.
double MmaDot(const double* q, const double* k, int n, int bits) {
  constexpr int kStep = 16;
  constexpr std::uint64_t kBelowFp32 = (std::uint64_t{1} << 29) - 1;
  const int fraction =
      std::min(bits, 28) - 1;  // 17 terms fit 32 bits and a sign
  double sum = 0;
  for (int i = 0; i < n; i += kStep) {
    double term[kStep];
    double largest = std::fabs(sum);
    for (int l = 0; l < kStep; ++l) {
      term[l] = q[i + l] * k[i + l];
      largest = std::max(largest, std::fabs(term[l]));
    }
    if (largest == 0) continue;
    const int exponent =
        static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52) - 1023;
    const double to_units = std::ldexp(1.0, fraction - exponent);
    std::int64_t units = static_cast<std::int32_t>(sum * to_units);
    for (int l = 0; l < kStep; ++l) {
      units += static_cast<std::int32_t>(term[l] * to_units);
    }
    const double aligned =
        static_cast<double>(units) * std::ldexp(1.0, exponent - fraction);
    sum = std::bit_cast<double>(std::bit_cast<std::uint64_t>(aligned) &
                                ~kBelowFp32);
  }
  return sum;
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

void ReadQuery(const Contract& contract, const RowLayout& layout,
               const StepImage& step, std::int64_t query, std::int64_t head,
               const ExpectOptions& options, QueryHead* out) {
  const ValueTiles tiles = TilesOf(layout);
  const Tensor& q = *step.Find(TensorId::kQ);
  const Storage<std::uint16_t> storage(&q);
  const std::int64_t at = options.dense_query
                              ? (query * q.shape[1] + head) * q.shape[2]
                              : query * q.strides[0] + head * q.strides[1];
  const DecodeContract::NopeTail rule = contract.decode().nope_tail();
  // A row has rope behind its values, or among them, or none.
  const bool beyond = layout.rope == kRope && tiles.rope_at() == kLatent;
  const bool tail = beyond && q.shape[2] == kLatent &&
                    rule != DecodeContract::NOPE_TAIL_IGNORED;
  // Back from the end of the latent.
  const int back =
      tail && rule == DecodeContract::NOPE_TAIL_MEETS_QUERY_END ? kRope : 0;
  out->columns =
      beyond && (tail || q.shape[2] >= kQueryColumns) ? kQueryColumns : kLatent;
  out->has_radius = false;
  out->unknown = false;
  std::fill_n(out->radius, kQueryColumns, 0.0);
  for (int i = 0; i < out->columns; ++i) {
    const int column = i < kLatent ? i : i - back;
    const std::int64_t element =
        column < q.shape[2] ? at + column * q.strides[2] : at + column;
    if (!storage.Has(element)) {
      out->unknown = true;
      out->value[i] = 0;
      continue;
    }
    out->value[i] = Bf16Value(storage[element]);
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
  out->nonzero = 0;
  out->magnitude = 0;
  std::uint64_t low = 0;  // the lowest fraction bit in sight, as an exponent
  out->granule = kInfinity;
  for (int i = 0; i < out->columns; ++i) {
    const double x = out->value[i];
    if (x == 0) continue;
    ++out->nonzero;
    out->magnitude += std::fabs(x) + out->radius[i];
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff || exponent == 0) {
      out->granule = 0;
      continue;
    }
    low = (bits & 0xfffffffffffffu) | std::uint64_t{1} << 52;
    const int granule = exponent - 1075 + std::countr_zero(low);
    // 2^granule is a normal fp64 number for every bf16.
    out->granule = std::min(
        out->granule, std::bit_cast<double>(
                          static_cast<std::uint64_t>(granule + 1023) << 52));
  }
}

void ComputeScores(const Contract& contract, const Caches& caches,
                   const Dequantiser& dequantiser, const StepImage& step,
                   absl::Span<const QueryHead> heads, const KeyPlan& plan,
                   const KeyRange& range, DequantisedRows* rows,
                   std::vector<HeadScores>* scores) {
  const Arithmetic& arithmetic = contract.arithmetic();
  const ErrorModel errors(arithmetic);
  const bool fp8 = arithmetic.query() != Arithmetic::QUERY_BF16 &&
                   arithmetic.dequantised() != Arithmetic::DEQUANTISED_BF16 &&
                   arithmetic.dequantised() != Arithmetic::DEQUANTISED_FP32;
  // Roundings on the way of one term: its product where that is longer than a
  // significand; the scale of a tile; the scale of the query's tile is a power
  // of two and exact.
  const double rounded =
      (dequantiser.short_products() ? 0 : 1) + dequantiser.roundings();
  const bool simulate_mma = arithmetic.accumulator() == Arithmetic::MMA &&
                            arithmetic.accumulator_bits() > 0;
  const bool has_tail = !heads.empty() && heads[0].columns == kQueryColumns;

  const double scale =
      std::bit_cast<float>(step.step->decode().softmax_scale_bits());
  const double to_base_2 = scale * kLog2E;
  // log2(e), its product with the scale and that with the sum: three roundings
  // in any order [4].
  const double scaling = Gamma(3);
  for (HeadScores& head : *scores) {
    head.sentinel = kSentinel * std::min(1.0, std::fabs(to_base_2));
  }

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
      facts = dequantiser.Row(token, rows->value[at + i], rows->radius[at + i]);
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
      const double sum_error =
          errors.Sum(head.nonzero, head.columns, rounded, fp8);
      for (int i = 0; i < count; ++i) {
        double& t = (*scores)[h].t[first + i];
        double& radius = (*scores)[h].radius[first + i];
        const RowFacts& facts = rows->facts[at + i];
        if (head.unknown || facts.unknown) {
          t = 0;
          radius = kInfinity;
          continue;
        }
        const Sums s = Dot(head.value, rows->value[at + i], head.columns);
        double sum = s.sum;
        double off_centre = 0;
        if (simulate_mma && s.magnitude < kFp32Max) {
          sum = MmaDot(head.value, rows->value[at + i], head.columns,
                       static_cast<int>(arithmetic.accumulator_bits()));
          off_centre = std::fabs(sum - s.sum);
        }
        t = sum * to_base_2;
        if (std::isnan(s.sum)) {
          // Only NaN, 0 * Inf or Inf - Inf of exact inputs come here; a radius
          // there may hide that the input is none.
          radius = facts.has_radius || head.has_radius ? kInfinity : 0;
          continue;
        }
        // Some order overflows, or a sum of codes before its scale.
        if (!(s.magnitude < kFp32Max) || (dequantiser.scale_may_follow() &&
                                          !(head.magnitude * 448 < kFp32Max))) {
          radius = kInfinity;
          continue;
        }
        double e = s.magnitude * sum_error + off_centre;
        // Lattice: all partial sums are short integers of one unit.
        const double unit = head.granule * facts.granule;
        if (unit > 0 &&
            s.magnitude <= unit * std::ldexp(1.0, errors.ExactBits(fp8))) {
          e = 0;
        } else {
          e += head.nonzero * errors.Tiny() * facts.growth;
        }
        if (facts.has_radius) {
          e += RadiusSum(head.value, rows->radius[at + i], kLatent);
        }
        if (head.has_radius) {
          e += RadiusSum(rows->value[at + i], head.radius, kLatent);
          if (facts.has_radius) {
            e += RadiusSum(head.radius, rows->radius[at + i], kLatent);
          }
        }
        radius =
            std::fabs(to_base_2) * e * (1 + scaling) + std::fabs(t) * scaling;
        if (t != 0 || e != 0) radius += errors.Tiny();
        if (!(std::fabs(t) + radius < kFp32Max) || std::isnan(radius)) {
          radius = kInfinity;
        }
      }
    }
    first += count;
  }
}

}  // namespace mlafuzz::oracle
