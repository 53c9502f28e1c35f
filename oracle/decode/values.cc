#include "oracle/decode/values.h"

#include <algorithm>
#include <cmath>

#include "oracle/decode/contract_rules.h"
#include "oracle/decode/weighted_values.h"
#include "oracle/decode/wide.h"

// Follows docs/bounds.md sections 5 and 6.
namespace mlafuzz::oracle {
namespace {

// sum += w v, radius += r |v| over one tile, for `count` keys from key j on.
MLAFUZZ_ORACLE_WIDE void Accumulate(const double* w, const double* r,
                                    const double (*v)[kLatent + kRope],
                                    int count, int column, int columns,
                                    double* sum, double* radius) {
  int k = 0;
  for (; k + kKeysAtATime <= count; k += kKeysAtATime) {
    const double* a = v[k] + column;
    const double* b = v[k + 1] + column;
    const double* c = v[k + 2] + column;
    const double* d = v[k + 3] + column;
    const double wk[] = {w[k], w[k + 1], w[k + 2], w[k + 3]};
    const double rk[] = {r[k], r[k + 1], r[k + 2], r[k + 3]};
    for (int i = 0; i < columns; ++i) {
      AddFourKeys(wk, rk, a[i], b[i], c[i], d[i], &sum[i], &radius[i]);
    }
  }
  for (; k < count; ++k) {
    const double* a = v[k] + column;
    const double wa = w[k], ra = r[k];
    for (int i = 0; i < columns; ++i) {
      AddKey(wa, ra, a[i], &sum[i], &radius[i]);
    }
  }
}

// Makes `rows` hold the V rows of `count` keys from `first` on; Rows that
// cannot be read are zeros.
void Dequantise(const Dequantisers& dequantisers, const Caches& caches,
                const KeyPlan& plan, int first, int count,
                DequantisedRows* rows) {
  TokenBytes buffer;
  rows->first = first;
  rows->count = count;
  for (int i = 0; i < count; ++i) {
    const Key& key = plan.keys[first + i];
    if (key.at < 0) {
      rows->facts[i] = {.unknown = true};
      std::fill_n(rows->value[i], kLatent, 0.0);
    } else {
      rows->facts[i] = dequantisers.ValuesOf(key).Row(
          caches.Token(key, &buffer), rows->value[i], rows->radius[i]);
    }
  }
}

// Columns whose sums may leave the range of fp32, or have.
class Range {
 public:
  void Add(const double* v, const std::array<double, kMaxTiles>& reach,
           int columns, bool alive) {
    if (largest_.empty()) {
      largest_.assign(kLatent, 0);
      nan_.assign(kLatent, 0);
    }
    for (int i = 0; i < kLatent; ++i) {
      if (std::isnan(v[i])) {
        // A weight of zero may have been skipped.
        if (alive) nan_[i] = 1;
        largest_[i] = kInfinity;
      } else {
        largest_[i] =
            std::max(largest_[i], std::fabs(v[i]) * reach[i / columns]);
      }
    }
  }

  void Apply(double terms, SplitOutput* out) const {
    if (largest_.empty()) return;
    for (int i = 0; i < kLatent; ++i) {
      if (nan_[i]) {
        out->value[i] = kNaN;
        out->radius[i] = 0;
      } else if (!(largest_[i] * terms < kFp32Max)) {
        out->value[i] = 0;
        out->radius[i] = kInfinity;
      }
    }
  }

 private:
  std::vector<double> largest_;
  std::vector<char> nan_;
};

}  // namespace

Dequantiser KeyDequantiser(const Contract& contract, const RowLayout& layout,
                           const ExpectOptions& options) {
  return Dequantiser(layout, contract.qk(), contract.arithmetic(),
                     /*codes=*/false, {.scaled_by = options.rope_scaled_by});
}

Dequantiser ValueDequantiser(const Contract& contract, const RowLayout& layout,
                             const ExpectOptions& options) {
  const Arithmetic& arithmetic = contract.arithmetic();
  const bool codes = ScaleInWeights(arithmetic);
  Arithmetic values = arithmetic;
  // The scale of a key's tile cannot follow a sum over keys.
  if (!codes && values.dequantised() == Arithmetic::DEQUANTISED_CODES) {
    values.set_dequantised(Arithmetic::DEQUANTISED_FP32);
  }
  return Dequantiser(layout, contract.v(), values, codes,
                     {.read = contract.decode().rope_values() !=
                              DecodeContract::ROPE_NOT_IN_VALUES,
                      .scaled_by = options.rope_scaled_by});
}

namespace {

// By whose rules keys of that index row are read.
const Contract& ReadBy(const Contract& contract, const ExpectOptions& options,
                       bool extra) {
  const Contract* other = options.keys_by[extra].get();
  return other == nullptr ? contract : *other;
}

}  // namespace

Dequantisers::Dequantisers(const Contract& contract, const RowLayout& layout,
                           const ExpectOptions& options)
    : keys(KeyDequantiser(ReadBy(contract, options, false), layout, options)),
      values(
          ValueDequantiser(ReadBy(contract, options, false), layout, options)),
      extra_keys(
          KeyDequantiser(ReadBy(contract, options, true), layout, options)),
      extra_values(
          ValueDequantiser(ReadBy(contract, options, true), layout, options)) {}

void SumValues(const Contract& contract, const Caches& caches,
               const Dequantisers& dequantisers, const KeyPlan& plan,
               const KeyPlan::Split& split,
               absl::Span<const SplitWeights> weights, DequantisedRows* rows,
               std::vector<SplitOutput>* outputs) {
  const Arithmetic& arithmetic = contract.arithmetic();
  const ValueTiles& tiles = dequantisers.values.tiles();
  const bool codes = ScaleInWeights(arithmetic);
  const std::size_t heads = weights.size();
  for (std::size_t h = 0; h < heads; ++h) {
    if (weights[h].state != SplitSummary::State::kUsable) continue;
    (*outputs)[h].value.assign(kLatent, 0);
    (*outputs)[h].radius.assign(kLatent, 0);
  }
  std::vector<Range> ranges(heads);
  bool unknown = false;

  const bool alike = dequantisers.SidesAlike();
  for (int first = split.keys.first; first < split.keys.end;) {
    int count = std::min(DequantisedRows::kChunk, split.keys.end - first);
    if (alike && rows->first <= first && first < rows->first + rows->count) {
      count = std::min(count, rows->first + rows->count - first);
    } else {
      Dequantise(dequantisers, caches, plan, first, count, rows);
    }
    const int at = first - rows->first;
    for (int i = at; i < at + count; ++i) unknown |= rows->facts[i].unknown;
    for (std::size_t h = 0; h < heads; ++h) {
      const SplitWeights& w = weights[h];
      if (w.state != SplitWeights::State::kUsable) continue;
      double* sum = (*outputs)[h].value.data();
      double* radius = (*outputs)[h].radius.data();
      const std::size_t j = static_cast<std::size_t>(first - split.keys.first);
      for (int t = 0; t < tiles.count; ++t) {
        const int column = t * tiles.columns;
        const int tile = codes ? t : 0;
        Accumulate(w.weight(tile) + j, w.radius(tile) + j, rows->value + at,
                   count, column, tiles.columns, sum + column, radius + column);
      }
      const double reach = *std::max_element(w.reach.begin(), w.reach.end());
      for (int i = 0; i < count; ++i) {
        const RowFacts& facts = rows->facts[at + i];
        if (facts.unknown) continue;
        for (int c = 0; facts.has_radius && c < kLatent; ++c) {
          const int tile = codes ? c / tiles.columns : 0;
          radius[c] +=
              (std::fabs(w.weight(tile)[j + i]) + w.radius(tile)[j + i]) *
              rows->radius[at + i][c];
        }
        if (MayLeaveRange(facts.finite, facts.largest, reach, w)) {
          ranges[h].Add(rows->value[at + i], w.reach, tiles.columns,
                        w.alive[j + i] != 0);
        }
      }
    }
    first += count;
  }

  const double tiny = ErrorModel(RulesOf(arithmetic)).Tiny();
  for (std::size_t h = 0; h < heads; ++h) {
    const SplitWeights& w = weights[h];
    if (w.state != SplitSummary::State::kUsable) continue;
    SplitOutput& out = (*outputs)[h];
    for (int c = 0; c < kLatent; ++c) {
      const Bounded o = SplitColumn(out.value[c], out.radius[c], w, tiny);
      out.value[c] = o.value;
      out.radius[c] = o.radius;
    }
    ranges[h].Apply(2 * w.terms, &out);
    if (unknown) {
      std::fill(out.value.begin(), out.value.end(), 0.0);
      std::fill(out.radius.begin(), out.radius.end(), kInfinity);
    }
  }
}

}  // namespace mlafuzz::oracle
