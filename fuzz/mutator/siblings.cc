#include "fuzz/mutator/siblings.h"

#include <utility>

#include "fuzz/mutator/mutator.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

// A mutation that changes what a call is told, or replaces the case, is another
// case's: so many tries for one sibling.
constexpr std::size_t kTries = 4;

}  // namespace

std::vector<Sibling> MakeSiblings(const Contracts& contracts,
                                  const CaseImage& image,
                                  const std::string& key, std::size_t count,
                                  Choices& choices,
                                  const GeneratorOptions& options) {
  std::vector<Sibling> siblings;
  if (key.empty()) return siblings;
  for (std::size_t i = 0; i < count * kTries && siblings.size() < count; ++i) {
    Sibling sibling = {.c = std::make_unique<Case>(*image.source)};
    if (options.steering != nullptr) options.steering->made_for = -1;
    MutateCase(*sibling.c, choices, options);
    auto built = BuildImage(*sibling.c);
    if (!built.ok()) continue;
    const auto its_key = FuseKey(contracts, *built);
    if (!its_key.ok() || *its_key != key) continue;
    sibling.image = *std::move(built);
    if (options.steering != nullptr) {
      sibling.made_for = options.steering->made_for;
    }
    siblings.push_back(std::move(sibling));
  }
  if (options.steering != nullptr) options.steering->made_for = -1;
  return siblings;
}

std::vector<Sibling> MakeSiblings(const Contracts& contracts, const Case& c,
                                  std::size_t count, Choices& choices,
                                  const GeneratorOptions& options) {
  const auto image = BuildImage(c);
  if (!image.ok()) return {};
  const auto key = FuseKey(contracts, *image);
  if (!key.ok()) return {};
  return MakeSiblings(contracts, *image, *key, count, choices, options);
}

}  // namespace mlafuzz
