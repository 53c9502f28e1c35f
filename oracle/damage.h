#ifndef MLAFUZZ_ORACLE_DAMAGE_H_
#define MLAFUZZ_ORACLE_DAMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {

// What one step left behind, every buffer present. Views.
struct AfterImage {
  absl::Span<const std::uint8_t> pool;
  // One a tensor of the step; empty for an input.
  std::vector<absl::Span<const std::uint8_t>> outputs;
};

// What `observed` left behind; an output it does not hold counts as unchanged.
// False if a buffer has another size than its tensor.
bool AfterImageOf(const StepImage& step, const StepObservation& observed,
                  absl::Span<const std::uint8_t> pool_after, AfterImage* after);

// Whether every settled byte of `expected` was observed, with what the contract
// leaves open (NaN payloads) taken as equal. Of rows that a race may have torn,
// each byte must be that of one of the writers.
bool Matches(const Contract& contract, const CaseImage& image, int step,
             absl::Span<const std::uint8_t> pool_before,
             const Expectation& expected, const AfterImage& after);

// Whether the call left every output, or these and the pool, as it was.
bool OutputsUnchanged(const StepImage& step, const AfterImage& after);
bool NothingChanged(const StepImage& step,
                    absl::Span<const std::uint8_t> pool_before,
                    const AfterImage& after);

// Wrong elements of one kind.
struct Region {
  std::int64_t count = 0;
  // The first: byte `at` of the pool (tensor -1) or of a tensor.
  int tensor = -1;
  std::int64_t at = -1;

  explicit operator bool() const { return count != 0; }
};

// Where an after-image differs from the expectation, by what it belongs to.
struct Damage {
  // Writer: bytes of rows that were to be written and were touched.
  Region codes;
  Region scales;
  Region padding;  // bytes of a row that hold nothing
  Region rope;
  Region tail;  // bytes 528..655 of fp8_ds_mla with pe_dim 0
  // Writer: rows that were to be written and hold what they held before.
  Region untouched_rows;
  // Writer: rows of the pool that hold a token that was to be skipped.
  Region skipped_rows;

  // Gather: values of rows that were to be written.
  Region values;         // of latent columns, or copied codes
  Region gather_rope;    // of rope columns
  Region gather_tail;    // the same of a call without rope
  Region missing_rows;   // rows that hold what they held before
  Region gather_scales;  // rows of copied scales

  // Convert: elements.
  Region indices;
  Region counts;

  // Bytes of the pool or of an output that nobody was to change.
  Region foreign;

  // Rows (of the pool, of dst, of out) that were to be written; wrong ones.
  std::int64_t rows = 0;
  std::int64_t wrong_rows = 0;
};

// All regions of it; what tells most of a cause comes first.
std::vector<const Region*> Regions(const Damage& damage);

// Compares byte by byte. Slow: for steps that do not match.
Damage Assess(const Contract& contract, const CaseImage& image, int step,
              absl::Span<const std::uint8_t> pool_before,
              const Expectation& expected, const AfterImage& after);

// "slot 3 byte 528 (rope): expected 0x00, got 0xa5" for a region's first
// element.
std::string DescribeFirst(const CaseImage& image, int step,
                          absl::Span<const std::uint8_t> pool_before,
                          const Expectation& expected, const AfterImage& after,
                          const Region& region);

// The pool that the expectation stands for.
inline absl::Span<const std::uint8_t> ExpectedPool(
    const Expectation& expected, absl::Span<const std::uint8_t> pool_before) {
  if (expected.pool.empty()) return pool_before;
  return expected.pool;
}

// Slot of the row that holds byte `at` of the pool's bytes, and the byte inside
// the row; slot -1 for a byte of no row (a gap, or before page 0).
struct PoolPlace {
  std::int64_t slot = -1;
  std::int64_t byte = -1;
};
PoolPlace PlaceInPool(const PoolImage& pool, std::int64_t at);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DAMAGE_H_
