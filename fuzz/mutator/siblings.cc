#include "fuzz/mutator/siblings.h"

#include <string>
#include <utility>

#include "corpus/image.h"
#include "fuzz/mutator/mutator.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

// A mutation that changes what a call is told, or replaces the case, is another
// case's: so many tries for one sibling.
constexpr std::size_t kTries = 4;

}  // namespace

Siblings MakeSiblings(const Contracts& contracts, const Case& c,
                      std::size_t count, Choices& choices,
                      const GeneratorOptions& options) {
  Siblings siblings;
  const auto image = BuildImage(c);
  if (!image.ok()) return siblings;
  const auto key = FuseKey(contracts, *image);
  if (!key.ok()) return siblings;
  for (std::size_t i = 0; i < count * kTries; ++i) {
    if (siblings.cases.size() == count) break;
    Case mutant = c;
    if (options.steering != nullptr) options.steering->made_for = -1;
    MutateCase(mutant, choices, options);
    const auto its_image = BuildImage(mutant);
    if (!its_image.ok()) continue;
    const auto its_key = FuseKey(contracts, *its_image);
    if (!its_key.ok() || *its_key != *key) continue;
    siblings.cases.push_back(std::move(mutant));
    siblings.made_for.push_back(
        options.steering != nullptr ? options.steering->made_for : -1);
  }
  if (options.steering != nullptr) options.steering->made_for = -1;
  return siblings;
}

}  // namespace mlafuzz
