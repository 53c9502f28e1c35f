#ifndef MLAFUZZ_ORACLE_DECODE_JUDGE_DECODE_H_
#define MLAFUZZ_ORACLE_DECODE_JUDGE_DECODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/decode_within.h"
#include "oracle/decode/validity_decode.h"
#include "oracle/verdict.h"

// The decode's part of oracle/judge.h. `step` is a step
// with kernel kDecode; `pool_before` the pool as it was observed before it.
namespace mlafuzz {

// Appends the checks of one decode: decode-out, decode-lse, written-set,
// memory-safety, lanes, refusal, or one that says why there are none. The LSE
// is always compared. False: what the pool holds afterwards is nobody's word,
// so later steps cannot be judged. `within`: known of the outputs, which are
// not looked at again.
bool JudgeDecode(const Contract& contract, const CaseImage& image, int step,
                 absl::Span<const std::uint8_t> pool_before,
                 const StepObservation& observed, std::vector<Check>* checks,
                 const DecodeWithin* within = nullptr);

// Searches the neighbours of the contract for those that explain output and LSE
// of every row that the declared one does not; then both scale rules at once;
// then what wrong kernels do to a split or a block; then names the damage.
Diagnosis DiagnoseDecode(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed, const Check& check);

// Whether the kernel cannot behave as the fault `key` (oracle/decode/faults.h)
// says: a fault that the step has room for would have left other values than
// came back. False for other keys.
bool RulesOutDecodeFault(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed,
                         absl::string_view key);

// Multi-line text: the first wrong value with its bound, the row's keys, the
// arithmetic that was simulated.
std::string ExplainDecode(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const StepObservation& observed, const Check& check);

// Whether no call's outputs can be right for both: some value is apart by more
// than both bounds (for bf16 outputs: no word fits both), or reads outside the
// pool differ. For two expectations of one step.
bool DecodesApart(const DecodeExpectation& a, const DecodeExpectation& b);

// Fields of qk, v and decode of which some other value would show: the two
// expectations are apart by more than both bounds (for bf16 outputs: no word
// fits both) in at least one value, or the call would be refused, or read
// outside the pool. Costs one ExpectDecode a neighbour. `only`: that field
// alone; empty: all.
std::vector<std::string> InformativeDecodeFields(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before, absl::string_view only = "");

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_JUDGE_DECODE_H_
