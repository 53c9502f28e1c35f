#include "properties/rapidcheck/arbitrary_case.h"

#include <ostream>
#include <utility>
#include <vector>

#include "corpus/codec.h"
#include "properties/minimize/minimize.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

// All cases that are one reduction away, large reductions first.
std::vector<Case> Reductions(const Case& c, const GeneratorOptions& options) {
  std::vector<Case> all;
  Minimize(c, {.max_tries = 400},
           [&](const Case& candidate) {
             Case usable = candidate;
             RepairCase(usable, options);
             // What repair has to change is another reduction's business.
             if (CanonicalBinary(usable) == CanonicalBinary(candidate)) {
               all.push_back(candidate);
             }
             return false;
           },
           {});
  return all;
}

}  // namespace

rc::Gen<Case> ArbitraryCase(const GeneratorOptions& options) {
  return [options](const rc::Random& random, int) {
    rc::Random words = random;
    Choices choices(words.next());
    return rc::shrinkable::shrinkRecur(
        GenerateCase(choices, options), [options](const Case& c) {
          return rc::seq::fromContainer(Reductions(c, options));
        });
  };
}

void showValue(const Case& c, std::ostream& out) {
  out << "\n" << FormatCaseText(c);
}

}  // namespace mlafuzz
