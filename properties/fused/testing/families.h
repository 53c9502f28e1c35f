#ifndef MLAFUZZ_PROPERTIES_FUSED_TESTING_FAMILIES_H_
#define MLAFUZZ_PROPERTIES_FUSED_TESTING_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "properties/generate.h"

namespace mlafuzz {

// Generated cases that call one kernel, of the layout that its target takes.
GeneratorOptions OptionsFor(const TargetSet& targets, Kernel kernel);

// Random cases by what may share a call: of each of `templates` cases, drawn
// from `first_seed` on, `siblings` more. What may share none is left out.
class Families {
 public:
  Families(const Contracts& contracts, GeneratorOptions options, int templates,
           std::size_t siblings = 7, std::uint64_t first_seed = 1);

  // Of two cases or more.
  std::vector<std::vector<const CaseImage*>> Calls() const;

 private:
  void Add(const Contracts& contracts, Case c);

  std::deque<Case> cases_;
  std::deque<CaseImage> images_;
  std::map<std::string, std::vector<const CaseImage*>> families_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_TESTING_FAMILIES_H_
