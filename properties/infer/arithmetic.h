#ifndef MLAFUZZ_PROPERTIES_INFER_ARITHMETIC_H_
#define MLAFUZZ_PROPERTIES_INFER_ARITHMETIC_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/contracts.h"
#include "properties/infer/infer.pb.h"
#include "properties/infer/probes.h"

namespace mlafuzz {

// All contracts that differ from `base` in one field of its arithmetic: the
// other named values of an enum, some sizes of a block and a split. Never
// "unknown", which explains by promising less; nor what changes bounds alone
// (accumulator, exp2).
std::vector<Neighbour> ArithmeticNeighbours(const Contract& base);

// How well a contract foretells the outputs of decodes.
struct Foretold {
  std::int64_t wrong = 0;  // words and LSEs that are out of their bounds
  std::int64_t words = 0;  // of output
  std::int64_t exact = 0;  // of them, equal to the expected value's bf16
};
Foretold Foretell(const Contract& contract, absl::Span<const Probe> probes);

// The arithmetic that foretells most words among those that contradict least,
// one field at a time until nothing changes, beginning at what `contract` says,
// and where that leaves fields unknown, at builtin's values for them too;
// a value that it names and nothing contradicts stays, and all is as
// declared, and undecided, if some word is contradicted whatever it is. The
// result is left there. One entry a field. `declared` is what the target says.
std::vector<InferredField> FitArithmetic(const Contract& declared,
                                         absl::Span<const Probe> probes,
                                         Contract* contract);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_ARITHMETIC_H_
