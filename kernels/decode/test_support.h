// For tests of this folder: decode calls on memory of their own, and what they
// should return, in double precision by the definitions.
#ifndef MLAFUZZ_KERNELS_DECODE_TEST_SUPPORT_H_
#define MLAFUZZ_KERNELS_DECODE_TEST_SUPPORT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/decode/options.h"
#include "kernels/target_set.h"

namespace mlafuzz::test {

// Everything that a decode gets, dense. Rows of 656 bytes, page_size a page.
struct Problem {
  std::int64_t queries = 1;
  std::int64_t heads = 1;
  std::int64_t pe_dim = 64;
  std::int64_t width = 64;
  std::int64_t page_size = 4;
  std::vector<std::uint8_t> cache;
  std::vector<std::uint16_t> q;       // [queries, heads, 512 + pe_dim]
  std::vector<std::int32_t> indices;  // [queries, width]
  std::vector<std::int32_t> lengths;  // empty: none
  std::vector<float> sinks;           // empty: none
  float softmax_scale = 0.0625f;
  std::int64_t splits = 0;
  std::int64_t declared_topk = 0;

  std::int64_t rows() const {
    return static_cast<std::int64_t>(cache.size()) / 656;
  }
  std::uint8_t* Row(std::int64_t slot) { return cache.data() + slot * 656; }
  const std::uint8_t* Row(std::int64_t slot) const {
    return cache.data() + slot * 656;
  }
};

// Random rows with values up to about 1 and scales that differ between tiles,
// queries that give logits of a few units, all candidates valid and no two
// alike where there are enough rows.
Problem RandomProblem(std::uint64_t seed, std::int64_t queries,
                      std::int64_t heads, std::int64_t width,
                      std::int64_t pe_dim = 64);

struct Answer {
  CallResult result;
  std::vector<std::uint16_t> out;  // [queries, heads, 512]
  std::vector<float> lse;          // [queries, heads]
};
// Bit for bit.
bool Same(const Answer& a, const Answer& b);

using DecodeFunction =
    std::function<CallResult(const DecodeArgs&, const LaunchContext&)>;

// Runs it on copies in memory of the exact sizes; also checks that inputs are
// left alone. Outputs hold 0x5a bytes before the call.
Answer Run(const Problem& problem, const DecodeFunction& decode,
           std::uint64_t schedule = 0);
Answer Run(const Problem& problem, const DecodeOptions& options,
           std::uint64_t schedule = 0);

// What one element should be, and how far a right kernel may be from it.
struct Interval {
  double value;
  double bound;
};

// The roundings that leave no choice (K, V, q, scales) are applied; for the
// others, each step's worst case is added up:
//   weights to bf16      2^-8 of the weight
//   weights to E4M3      2^-4 of it, or 2^-10 of the scale; the square of 2^-4
//                        for two passes
//   fp32 sums            2^-24 of the sum of magnitudes, a term each
//   partials to bf16     2^-8
//   output to bf16       2^-8
// First order, so with 1 % to spare for products of errors.
struct Expected {
  std::vector<Interval> out;
  std::vector<Interval> lse;
};
Expected Reference(const Problem& problem, const DecodeOptions& options);

// Compares all elements and says in a test failure which one is off.
void ExpectNear(const Answer& answer, const Expected& expected);

}  // namespace mlafuzz::test

#endif  // MLAFUZZ_KERNELS_DECODE_TEST_SUPPORT_H_
