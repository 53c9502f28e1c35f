#ifndef MLAFUZZ_KERNELS_DECODE_TRACE_H_
#define MLAFUZZ_KERNELS_DECODE_TRACE_H_

#include <cstdint>

namespace mlafuzz {

// What the decode of kernels/decode leaves in a `trace` tensor of size() fp32
// numbers, so that two runs can be compared stage by stage. `outputs` is
// queries * heads, `blocks` those of 64 candidates that `width` makes, which is
// also the most splits. What no stage writes stays as it was.
struct TraceLayout {
  static constexpr std::int64_t kBlock = 64;
  static constexpr std::int64_t kColumns = 512;

  std::int64_t outputs;
  std::int64_t blocks;

  static TraceLayout Of(std::int64_t queries, std::int64_t heads,
                        std::int64_t width) {
    return {queries * heads, (width + kBlock - 1) / kBlock};
  }

  // Of every candidate: its score in base 2, -Inf where it is no key; its
  // weight relative to the running maximum. [outputs, blocks, 64]
  std::int64_t scores() const { return 0; }
  std::int64_t weights() const { return outputs * blocks * kBlock; }
  // After every block: the running maximum; the sum. [outputs, blocks]
  std::int64_t maxima() const { return weights() + outputs * blocks * kBlock; }
  std::int64_t sums() const { return maxima() + outputs * blocks; }
  // Of every split: its accumulator before it is divided by the sum,
  // [outputs, blocks, 512] (split, not block); its LSE in base 2.
  // [outputs, blocks]
  std::int64_t accumulators() const { return sums() + outputs * blocks; }
  std::int64_t split_lse() const {
    return accumulators() + outputs * blocks * kColumns;
  }
  std::int64_t size() const { return split_lse() + outputs * blocks; }
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_TRACE_H_
