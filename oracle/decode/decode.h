#ifndef MLAFUZZ_ORACLE_DECODE_DECODE_H_
#define MLAFUZZ_ORACLE_DECODE_DECODE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// What a sparse decode must return, in fp64, each value with a bound.
//
// For query n and head h, over the lanes of the index row that name a key:
//
//   s_j = softmax_scale * (sum_k q_k k_jk + sum_r q_r rope_jr)
//   out = sum_j exp(s_j) v_j / (sum_j exp(s_j) + exp(sink)),  lse = log(...)
//
// k and v are the row's 512 values with the scale rule of `qk` and `v`; of
// DSV4_FOOTER_584 the last 64 are its rope, which meets the last 64 columns of
// q. Keys of a second cache come behind those of the first. A lane is masked if
// its index is negative (ANY_NEGATIVE) or -1 (MINUS_ONE), if lengths are given,
// count, and lane >= length, or if it lies at or past declared_topk under
// DECLARED_TOPK_CLIPS. A repeated index counts each time. Where masked lanes
// read slot 0, a split that has keys and masked lanes is NaN in every column
// that is NaN or Inf there.
//
// Arithmetic that the contract declares is simulated:
//
//   blocks  Lanes [block * i, block * (i + 1)) of the index row, masked or not,
//           are block i; n = ceil(width / block) of them. Lanes of a second
//           index row go on with a block of their own.
//   splits  Asked for s > 0: split i has blocks [i * n / s, (i + 1) * n / s),
//           integer division; s = 0: blocks_per_split blocks each. Block or
//           blocks_per_split unknown: the splits are unknown, s or not.
//   DEQUANTISED_BF16    the fp32 product code * scale, rounded to bf16
//   DEQUANTISED_CODES   for v the same value as DEQUANTISED_FP32
//   WEIGHTS_BF16        bf16(exp2(t - m)), t = s * log2(e), m the running
//                       maximum of the split including the block; the
//                       denominator sums the weights before rounding
//   WEIGHTS_E4M3        w_j = exp2(t_j - m) * v_scale_j for each of the v
//                       tiles; p = max(max_j |w_j|, 1e-10) / 448 over the
//                       block's keys; v enters as codes, the weight as
//                       p * E4M3(w_j / p)
//   WEIGHTS_E4M3_TWO_PASS  adds p * E4M3(w_j / p - E4M3(w_j / p))
//   partials            each split's output, divided by its own denominator,
//                       rounded to the partials' type; its LSE is fp32
//
// All else is bounded: docs/bounds.md has the derivation.
struct DecodeExpectation {
  std::int64_t queries = 0;
  std::int64_t heads = 0;
  // [queries, heads, 512] and [queries, heads], row-major. A value with its
  // bound b >= 0. b infinite: anything is right. Value NaN: must be NaN; value
  // infinite: must be that infinity.
  std::vector<double> out;
  std::vector<double> out_bound;
  std::vector<double> lse;  // in the contract's base
  std::vector<double> lse_bound;
  // A subnormal output may be zero instead.
  bool may_flush = false;
  // Reads of rows outside the pool; the rows concerned are "anything".
  std::int64_t outside_reads = 0;

  std::int64_t rows() const { return queries * heads; }
};

inline constexpr int kDecodeColumns = 512;

// For tests and diagnoses.
struct ExpectOptions {
  // Per query the splits as [first block, end block); instead of the rule. Of a
  // first index row beside a second one the blocks before its length's end
  // count, at least one (FlashMLA).
  const std::vector<std::vector<std::pair<int, int>>>* splits = nullptr;
  // What wrong kernels do: leave out a split, by its number among all or among
  // those with keys, or keep the output of earlier blocks when the running
  // maximum moves.
  static constexpr int kNoSplit = -1;
  static constexpr int kLastSplit = -2;  // where there is more than one
  int dropped_split = kNoSplit;
  bool empty_splits_count = false;
  bool no_rescale = false;
  // Drop candidates from this lane on, and their blocks; negative: none.
  std::int64_t lanes = -1;
  // Take the first query's columns, indices or length for all queries, the
  // first head's sink for all heads.
  bool first_query = false;
  bool first_indices = false;
  bool first_length = false;
  bool first_sink = false;
  // Take entry r of the lengths for all queries of request r.
  bool length_of_request = false;
  // Take the columns of the first query of each request for all of it.
  bool first_position = false;
  // Take index rows, or heads and queries of q, for adjacent.
  bool dense_indices = false;
  bool dense_query = false;
  // Leave the results in another order than [queries, heads]: heads first, or
  // heads first within each request.
  enum class Order { kOwn, kHeadsFirst, kHeadsFirstInRequest };
  Order out_order = Order::kOwn;
  Order lse_order = Order::kOwn;
  // Look for a slot's row by another page size (rows) or other strides (bytes);
  // 0: the pool's own.
  std::int64_t page_size = 0;
  std::int64_t page_stride = 0;
  std::int64_t row_stride = 0;
  // Read the rows that lanes past a length name, and give them weight 0.
  bool reads_past_length = false;
  // Take a row's end from its masks, count one lane too many, take a length
  // of 0 for none given.
  enum class Length {
    kGiven,
    kFirstMasked,
    kNumberOfKeys,
    kOneMore,
    kZeroIsNone,
  };
  Length length = Length::kGiven;
  // Make NaN of rows without keys; of the outputs of keys beside a split
  // without any.
  bool empty_row_nan = false;
  bool empty_split_nan = false;
  // Leave a part of the query out of the logits, or exchange two.
  enum class Query {
    kAll,
    kNoRope,
    kFirstHalfOfRope,
    kRopeHalvesSwapped,
  };
  Query query = Query::kAll;
  int no_tile = -1;  // of the row's tiles of codes
  // Read the scales of the token so many entries behind in the page's footer.
  int scale_entries = 0;
  // Multiply rope among the values with the scale of this tile.
  int rope_scaled_by = -1;
  // Look for rows of the second cache by the first one's page size or page
  // stride, or in the first one.
  bool extra_page_size_of_first = false;
  bool extra_page_stride_of_first = false;
  bool extra_in_first = false;
  // Look for the footers of its pages by the first one's page size, cut its
  // index rows at the width of the first ones.
  bool extra_footers_of_first = false;
  bool extra_width_of_first = false;
  // Read the keys of the first index row, of the second one, by the rules of
  // another contract for scales and rope; null: by those of the contract.
  std::array<std::shared_ptr<const Contract>, 2> keys_by;
  // Leave the sink out of the LSE of rows without keys.
  bool empty_row_without_sink = false;
};

// Defined for any step with kernel kDecode whose call Classify() does not call
// invalid; what the contract leaves open comes out as "anything". `pool_before`
// is laid out as PoolImage::bytes. Shares no arithmetic with kernels/.
// Cost: linear in queries, keys and heads; about 1 us a key and head.
DecodeExpectation ExpectDecode(const Contract& contract, const CaseImage& image,
                               int step,
                               absl::Span<const std::uint8_t> pool_before,
                               const ExpectOptions& options = {});

// Whether bf16 `bits` is the nearest-even rounding of some real number within
// `bound` of `value` (see DecodeExpectation for the special ones).
bool DecodeOutMatches(const DecodeExpectation& expected, std::int64_t element,
                      std::uint16_t bits);
// Whether the fp32 `lse` is within the row's bound.
bool DecodeLseMatches(const DecodeExpectation& expected, std::int64_t row,
                      float lse);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_DECODE_H_
