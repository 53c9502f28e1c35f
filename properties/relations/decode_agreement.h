#ifndef MLAFUZZ_PROPERTIES_RELATIONS_DECODE_AGREEMENT_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_DECODE_AGREEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/decode.h"
#include "properties/relations/step_relation.h"

// How far two runs of a decode may lie apart; docs/bounds.md, section 11, has
// the derivation.
namespace mlafuzz {

// One decode of one step, alone in its image.
struct DecodeRun {
  const CaseImage& image;
  const StepObservation& observed;
};

// What one run makes of the other's result.
struct Agreement {
  // Bit for bit (any NaN is a NaN). Else output within the sum of both bounds
  // of what the oracle's two simulated values differ by, and LSE within the sum
  // of both bounds of `lse_shift`.
  bool bitwise = false;
  // LSE of the second run less that of the first, in the contract's base.
  double lse_shift = 0;
  // Row of the first run (query * heads + head) that each row of the second
  // must agree with; empty: the same.
  std::vector<std::int64_t> rows;
};

// Whether a right kernel forms every sum of both calls of the same terms in the
// same places, so that their results are the same bits: blocks and splits are
// declared, every split has the same keys at the same places of its blocks,
// blocks without keys aside, and neither run has a rule for masked lanes that
// makes them count.
bool SamePlan(const Contract& contract, const CaseImage& a, const CaseImage& b);

// Compares two runs under `contract`; a call that changed the pool disagrees.
// kUninformative if the contract leaves every value open.
Finding Compare(const Contract& contract, const DecodeRun& first,
                const DecodeRun& second, const Agreement& agreement);

// Runs `image`, and compares it with the plain run. A failure begins with
// `what`.
absl::Status RunAndCompare(StepContext& context, const CaseImage& image,
                           const Agreement& agreement, const char* what,
                           Finding* finding);

// The plain run as the first of a comparison. `image` must outlive it.
CaseImage PlainImage(const StepContext& context);

// bf16 `bits` as a set of reals: those that round to it. [low, high]; NaN: both
// NaN. Zero holds what `may_flush` flushes.
struct Preimage {
  double low;
  double high;
};
Preimage RoundsTo(std::uint16_t bits, bool may_flush);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_DECODE_AGREEMENT_H_
