#ifndef MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_
#define MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "oracle/judge.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// A mutant of a case that may share a call with it, built.
struct Sibling {
  std::unique_ptr<Case> c;
  CaseImage image;  // points into `c`
  // What options.steering said of it: the field that it was made for, or -1.
  int made_for = -1;
};

// Up to `count` mutants of the case of `image` that may share a call with it
// (properties/fused/fused_case.h): other values, slots, lengths and sizes under
// the same static configuration. `key` is the FuseKey() of all; none if that is
// empty: it may share no call.
std::vector<Sibling> MakeSiblings(const Contracts& contracts,
                                  const CaseImage& image,
                                  const std::string& key, std::size_t count,
                                  Choices& choices,
                                  const GeneratorOptions& options);

// The same of a case that is not built yet.
std::vector<Sibling> MakeSiblings(const Contracts& contracts, const Case& c,
                                  std::size_t count, Choices& choices,
                                  const GeneratorOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_MUTATOR_SIBLINGS_H_
