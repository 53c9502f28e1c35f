#ifndef MLAFUZZ_ORACLE_EXPECT_H_
#define MLAFUZZ_ORACLE_EXPECT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// Bytes [begin, end) of the pool (tensor -1) or of one of the step's tensors.
struct ByteRange {
  int tensor = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The state that a step must leave behind: every byte of the pool and of every
// tensor, gaps included.
struct Expectation {
  // As PoolImage::bytes; empty: unchanged.
  std::vector<std::uint8_t> pool;
  // One a tensor of the step: an output's bytes; empty for an input.
  std::vector<std::vector<std::uint8_t>> outputs;
  // Bytes (of the pool for a writer, of the outputs otherwise) that the step
  // was to change or confirm. 0: it had nothing to do.
  std::int64_t written = 0;

  // Empty and 0 for valid and boundary steps. Otherwise what the contract makes
  // depend on memory that is not the step's, or on a race:
  // bytes whose value is not known (they hold a deterministic guess),
  std::vector<ByteRange> unsettled;
  // and rows that the step sends outside the pool (a writer) or dst (a gather).
  std::int64_t outside_writes = 0;
};

// What the step must leave behind when the pool held `pool_before` (laid out as
// PoolImage::bytes). Defined for valid and boundary steps; for contracts that
// let a step address bytes outside the pool (SLOTS NONE_SKIPPED with slot -1)
// those writes are left out. Shares no arithmetic with kernels/.
Expectation Expect(const Contract& contract, const CaseImage& image, int step,
                   absl::Span<const std::uint8_t> pool_before);

// The bytes of the pool that the step may read: one byte each, 1 or 0. All
// others may hold anything without any effect (two-poison).
std::vector<std::uint8_t> PoolReadSet(const Contract& contract,
                                      const CaseImage& image, int step);
// The same of a decode's second cache: as long as kExtraCache; empty: none.
std::vector<std::uint8_t> ExtraReadSet(const Contract& contract,
                                       const CaseImage& image, int step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_EXPECT_H_
