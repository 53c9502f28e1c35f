#ifndef MLAFUZZ_BASELINES_ATTENTION_H_
#define MLAFUZZ_BASELINES_ATTENTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"

namespace mlafuzz::baselines {

// Sparse attention of q [queries, heads, 576] bf16 over rows that indices
// [queries, width] name; -1 and lanes at or past a query's length are no keys.
struct AttentionInput {
  std::int64_t queries = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  std::vector<std::uint16_t> q;
  std::vector<std::int32_t> indices;
  std::vector<std::int32_t> lengths;  // [queries], or empty
  std::vector<float> sinks;           // [heads], natural-log units, or empty
  float softmax_scale = 0;
};

// The conventions of an LSE, on which right kernels differ.
struct LseForm {
  bool base_e = false;
  bool includes_sink = true;
  bool plus_inf_without_keys = false;  // else -Inf, or the sink
};
// As the contract says.
LseForm LseFormOf(const DecodeContract& contract);

struct AttentionOutput {
  std::vector<std::uint16_t> out;  // [queries, heads, 512] bf16
  std::vector<float> lse;          // [queries, heads]
};

// Softmax attention as the published tests' references have it: dense and in
// one piece, over `rows` [slots, 576], with NaN in a row read as 0 (a row that
// no index names may hold anything). Sums in fp64; the output is rounded to
// bf16 once.
AttentionOutput Attend(const AttentionInput& input,
                       absl::Span<const float> rows, const LseForm& form);

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_ATTENTION_H_
