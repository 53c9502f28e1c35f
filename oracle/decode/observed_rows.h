#ifndef MLAFUZZ_ORACLE_DECODE_OBSERVED_ROWS_H_
#define MLAFUZZ_ORACLE_DECODE_OBSERVED_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/decode.h"

namespace mlafuzz::oracle {

// Output and LSE of one decode as they were observed, by row (query * heads +
// head).
class ObservedRows {
 public:
  ObservedRows(const StepImage& step, const StepObservation& observed);

  // False if a buffer has another size than its tensor; nothing else may be
  // called then.
  bool well_formed() const { return well_formed_; }

  std::uint16_t Out(std::int64_t row, int column) const;  // bf16
  float Lse(std::int64_t row) const;

  // Bytes of an output that belong to no element and changed.
  std::int64_t StrayGapBytes() const;
  // Whether no byte of either output changed.
  bool Untouched() const;

  // First column that is not as expected; -1 if none.
  int WrongColumn(const DecodeExpectation& expected, std::int64_t row) const;
  bool LseMatches(const DecodeExpectation& expected, std::int64_t row) const;
  bool RowMatches(const DecodeExpectation& expected, std::int64_t row) const;
  // Of each element in a fixed order (a row's output values, then its LSE)
  // whether it is as expected.
  std::vector<bool> Matching(const DecodeExpectation& expected) const;

  // Whether all output values of a row are NaN; zero, of either sign.
  bool AllNan(std::int64_t row) const;
  bool AllZero(std::int64_t row) const;

 private:
  std::int64_t OutAt(std::int64_t row, int column) const;  // byte
  std::int64_t LseAt(std::int64_t row) const;

  const Tensor& out_;
  const Tensor& lse_;
  bool well_formed_ = true;  // before the spans, whose makers may clear it
  absl::Span<const std::uint8_t> out_bytes_;
  absl::Span<const std::uint8_t> lse_bytes_;
};

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_OBSERVED_ROWS_H_
