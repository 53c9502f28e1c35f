#ifndef MLAFUZZ_CORPUS_CONTRACTS_H_
#define MLAFUZZ_CORPUS_CONTRACTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// The contract of this project's own kernels: raw scales with the FLT_MIN
// floor, true division, pe_dim in {64, 0} with a zeroed tail, every negative
// slot skipped, both length conventions, a zeroed NoPE tail in the gather,
// every misuse refused. Every field is set.
Contract BuiltinContract();
// That of this project's kernels for another layout, in the conventions of
// those who brought it up: vLLM's indexer writer with fp32 scales, vLLM's CUDA
// insert of DeepSeek-V4, FlashInfer's writer of DSV4_1 (spec of each in
// docs/layouts.md). No kernel of ours decodes them.
Contract BuiltinContract(Layout layout);

// Whether a field ("writer.tail") is a rule for caches of this layout. One that
// is not has no neighbours.
bool RuleApplies(Layout layout, absl::string_view field);
// And for a kernel of this contract: what becomes of fp32 values is no rule
// where none are taken, nor is a scale where bytes are copied.
bool RuleApplies(const Contract& contract, absl::string_view field);

// vLLM's kernels as read at 00eb0c87 (writer generation W1, newer gather).
Contract VllmContract();

// Fills every UNSPECIFIED field from BuiltinContract() of the contract's
// layout, empty lists too.
void FillDefaults(Contract& contract);

// Parses a contract's text form; an unknown field or value is an error that
// names it. Defaults are filled in.
absl::StatusOr<Contract> ParseContractText(absl::string_view text);

// One declared rule and another value of it.
struct Neighbour {
  Contract contract;     // the base with one field changed
  std::string field;     // "writer.tail", "qk.scale_rule"
  std::string declared;  // "TAIL_ZERO"
  std::string changed;   // "TAIL_UNCHANGED"
};

// All contracts that differ from `base` in one field of `kernel`'s rules:
// every other value of an enum; for numbers and sets the listed alternatives
// (floor_bits: FLT_MIN, 1e-4). Host checks and accepted sets are not varied:
// a refusal explains itself.
std::vector<Neighbour> Neighbours(const Contract& base, Kernel kernel);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_CONTRACTS_H_
