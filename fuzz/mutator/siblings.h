#ifndef MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_
#define MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_

#include <cstddef>
#include <vector>

#include "corpus/case.pb.h"
#include "oracle/judge.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// Up to `count` mutants of `c` that may share a call with it
// (properties/fused/fused_case.h): other values, slots, lengths and sizes under
// the same static configuration. None if `c` may share no call. `made_for`
// holds what options.steering said of each: the field that it was made for, or
// -1.
struct Siblings {
  std::vector<Case> cases;
  std::vector<int> made_for;
};
Siblings MakeSiblings(const Contracts& contracts, const Case& c,
                      std::size_t count, Choices& choices,
                      const GeneratorOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_
