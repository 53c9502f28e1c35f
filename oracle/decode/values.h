#ifndef MLAFUZZ_ORACLE_DECODE_VALUES_H_
#define MLAFUZZ_ORACLE_DECODE_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/softmax.h"

namespace mlafuzz::oracle {

// The output of one head over one split, divided by its denominator.
struct SplitOutput {
  // [512]; radius infinite: anything; value NaN: must be NaN.
  std::vector<double> value;
  std::vector<double> radius;
};

// The two sides of an arithmetic: what stands for K and for V in the products.
// Of `options`: `rope_scaled_by`.
Dequantiser KeyDequantiser(const Contract& contract, const RowLayout& layout,
                           const ExpectOptions& options);
Dequantiser ValueDequantiser(const Contract& contract, const RowLayout& layout,
                             const ExpectOptions& options);

// The two as a call needs them, and those for keys that the second index row
// names. Of `options`: `rope_scaled_by` and `keys_by`.
struct Dequantisers {
  Dequantisers(const Contract& contract, const RowLayout& layout,
               const ExpectOptions& options);

  Dequantiser keys;
  Dequantiser values;
  Dequantiser extra_keys;
  Dequantiser extra_values;

  const Dequantiser& KeysOf(const Key& key) const {
    return key.extra ? extra_keys : keys;
  }
  const Dequantiser& ValuesOf(const Key& key) const {
    return key.extra ? extra_values : values;
  }
  // Whether every key's row gives the same values on both sides.
  bool SidesAlike() const {
    return values.SameAs(keys) && extra_values.SameAs(extra_keys);
  }
};

// Outputs of every usable head of one split.
// `outputs` has one entry a head; those of unusable heads are left alone.
// `rows` as ComputeScores() or an earlier call left it: rows that are there
// already, and read alike on both sides, are not dequantised again.
void SumValues(const Contract& contract, const Caches& caches,
               const Dequantisers& dequantisers, const KeyPlan& plan,
               const KeyPlan::Split& split,
               absl::Span<const SplitWeights> weights, DequantisedRows* rows,
               std::vector<SplitOutput>* outputs);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_VALUES_H_
