#ifndef MLAFUZZ_ORACLE_OUTSIDE_MEMORY_H_
#define MLAFUZZ_ORACLE_OUTSIDE_MEMORY_H_

#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/expect.h"

// Where a contract's rules would have a step reach outside of what it may
// touch. Damage that lies elsewhere, or a death that an access elsewhere
// brought about, is no doing of theirs.
namespace mlafuzz::oracle {

// Rows that a writer stores outside the pool or before its page 0 (a negative
// slot as an address, under division toward zero and, where it differs, toward
// minus infinity), or that a gather stores outside dst. From byte 0 of the
// pool's bytes, or of dst's; a gather's consecutive rows are one range.
std::vector<ByteRange> OutsideWrites(const Contract& contract,
                                     const PoolImage& pool,
                                     const StepImage& step);

// Elements of the block table, and rows of the pool, that a gather or an index
// conversion reads outside of their storage. The first 4096; where an element
// outside leads to is not known and not among them.
std::vector<ByteRange> OutsideReads(const Contract& contract,
                                    const PoolImage& pool,
                                    const StepImage& step);

// Whether the address lies in one of the ranges.
bool Contains(const std::vector<ByteRange>& ranges, const MemoryFault& fault);

// Whether damage is what rows stored there leave behind: each changed stretch
// of the pool (a gather's: of dst) begins and ends in the ranges, and at least
// half a row has changed. `before_page_0`: bytes of the pool's own that changed
// there; with `count` 0 none did.
bool LeftByRows(const std::vector<ByteRange>& ranges, const StepImage& step,
                absl::Span<const Stray> strays, const Stray& before_page_0);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_OUTSIDE_MEMORY_H_
