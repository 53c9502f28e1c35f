#ifndef MLAFUZZ_ORACLE_JUDGE_H_
#define MLAFUZZ_ORACLE_JUDGE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/decode_within.h"
#include "oracle/verdict.h"

namespace mlafuzz {

// The contract of whoever ran each kernel, by Kernel.
using Contracts = std::array<const Contract*, kAllKernels.size()>;

// Judges every step of a case. Each step is judged from the pool as it was
// *observed* before it, so that a writer's fault is not counted again against
// the gather that read its rows. Bit for bit; the only freedom is what the
// contract leaves open (NaN payloads under NAN_ANY). A decode within the bounds
// of oracle/decode/decode.h.
std::vector<Check> Judge(const Contracts& contracts, const CaseImage& image,
                         const Observation& observation);

// The same of a case whose steps, decodes apart, are known to have left exactly
// what Expect() says: nothing is worked out or compared again. One a step.
struct KnownStep {
  std::int64_t written = 0;  // the expectation's
  // Of a decode all of whose outputs are known to be within their bounds. One
  // of which this is not known is looked at.
  std::optional<DecodeWithin> decode;
};
std::vector<Check> JudgeAsExpected(const Contracts& contracts,
                                   const CaseImage& image,
                                   const Observation& observation,
                                   absl::Span<const KnownStep> known);

// Searches the neighbours of the contract for one that predicts exactly what
// was observed in `check.step`; if there is none, names the pattern of the
// damage. Slow (tens of Expect calls): for failures only.
Diagnosis Diagnose(const Contracts& contracts, const CaseImage& image,
                   const Observation& observation, const Check& check);

// Whether what came back in `step` rules out that its kernel behaves as `key`
// says, a Diagnosis' key: of contract fields, a kernel of that contract would
// have failed there too, or written outside of what it was given; of a pattern
// whose traces are known, they are not there. A step that the declared contract
// passes rules out what it would have shown; of one that fails this says
// nothing if the kernel has several faults. A fault of which nobody knows where
// it sets in (row-truncated: behind which lane) is ruled out as far as the step
// has room for it: ask of no row narrower than one that failed.
bool RulesOut(const Contracts& contracts, const CaseImage& image,
              const Observation& observation, int step, absl::string_view key);
// Whether any step could: of the shape of a damage ("codes-only") no prediction
// follows.
bool CanBeRuledOut(absl::string_view key);

// Multi-line text for one check: first wrong element, expected, got, the bytes
// and the scale involved, the contract rule.
std::string Explain(const Contracts& contracts, const CaseImage& image,
                    const Observation& observation, const Check& check);

// Fields of `kernel`'s contract under whose neighbouring values the step would
// have to look different: what this check could have seen. For sampling; costs
// one Expect a neighbour.
std::vector<std::string> InformativeFields(
    const Contract& contract, const CaseImage& image, int step,
    absl::Span<const std::uint8_t> pool_before);

// Whether `field` is among them; costs its own neighbours alone.
bool IsInformative(const Contract& contract, const CaseImage& image, int step,
                   absl::Span<const std::uint8_t> pool_before,
                   absl::string_view field);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_JUDGE_H_
