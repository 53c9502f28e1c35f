#include "properties/fused/testing/families.h"

#include <utility>

#include "fuzz/mutator/siblings.h"
#include "gtest/gtest.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {

GeneratorOptions OptionsFor(const TargetSet& targets, Kernel kernel) {
  GeneratorOptions options = {.writer = kernel == Kernel::kWriter,
                              .gather = kernel == Kernel::kGather,
                              .convert = kernel == Kernel::kConvert,
                              .decode = kernel == Kernel::kDecode};
  const Contract& contract = targets.For(kernel)->contract();
  if (contract.layout() != LAYOUT_UNSPECIFIED) {
    options.layout = contract.layout();
  }
  TakeWhat(kernel, contract, options);
  return options;
}

Families::Families(const Contracts& contracts, GeneratorOptions options,
                   int templates, std::size_t siblings,
                   std::uint64_t first_seed) {
  for (int i = 0; i < templates; ++i) {
    Choices choices(first_seed + static_cast<std::uint64_t>(i));
    Case c = GenerateCase(choices, options);
    for (Sibling& s : MakeSiblings(contracts, c, siblings, choices, options)) {
      Add(contracts, std::move(*s.c));
    }
    Add(contracts, std::move(c));
  }
}

std::vector<std::vector<const CaseImage*>> Families::Calls() const {
  std::vector<std::vector<const CaseImage*>> calls;
  for (const auto& [key, members] : families_) {
    if (members.size() > 1) calls.push_back(members);
  }
  return calls;
}

void Families::Add(const Contracts& contracts, Case c) {
  cases_.push_back(std::move(c));
  auto image = BuildImage(cases_.back());
  ASSERT_TRUE(image.ok()) << image.status();
  const auto key = FuseKey(contracts, *image);
  if (!key.ok()) return;
  images_.push_back(*std::move(image));
  families_[*key].push_back(&images_.back());
}

}  // namespace mlafuzz
