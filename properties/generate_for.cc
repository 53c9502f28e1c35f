#include "properties/generate_for.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/fields.h"
#include "properties/generate_for_parts.h"

namespace mlafuzz {
namespace {

using Make = void (*)(Choices&, const GeneratorOptions&, Case&);

// By AllFields() number; null where no case can tell.
const std::vector<Make>& Recipes() {
  static const auto* const kRecipes = [] {
    auto* recipes = new std::vector<Make>(AllFields().size(), nullptr);
    for (const auto& of_kernel : {WriterRecipes(), GatherRecipes(),
                                  ConvertRecipes(), DecodeRecipes()}) {
      for (const FieldRecipe& recipe : of_kernel) {
        const int field = FieldNumber(recipe.field);
        if (field >= 0)
          (*recipes)[static_cast<std::size_t>(field)] = recipe.make;
      }
    }
    return recipes;
  }();
  return *kRecipes;
}

bool Has(const GeneratorOptions& options, Kernel kernel) {
  switch (kernel) {
    case Kernel::kWriter:
      return options.writer;
    case Kernel::kGather:
      return options.gather;
    case Kernel::kConvert:
      return options.convert;
    case Kernel::kDecode:
      return options.decode;
  }
  return false;
}

}  // namespace

bool CanGenerateFor(int field) {
  return Recipes()[static_cast<std::size_t>(field)] != nullptr;
}

Case GenerateFor(int field, Choices& choices, const GeneratorOptions& options) {
  Case c;
  if (choices.OneIn(2)) c.set_schedule(choices.Below(1u << 16));
  c.set_poison(choices.Below(1u << 16));
  Recipes()[static_cast<std::size_t>(field)](choices, options, c);
  return c;
}

int PickField(Choices& choices, const GeneratorOptions& options) {
  const std::vector<Field>& fields = AllFields();
  std::vector<std::uint32_t> weights(fields.size(), 0);
  std::uint32_t sum = 0;
  for (const bool alike : {false, true}) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!Has(options, fields[i].kernel) || Recipes()[i] == nullptr) continue;
      weights[i] =
          alike ? 1
          : options.steering != nullptr && i < options.steering->weights.size()
              ? options.steering->weights[i]
              : 0;
      sum += weights[i];
    }
    if (sum != 0) break;
  }
  std::uint32_t draw = choices.Below(sum);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (draw < weights[i]) return static_cast<int>(i);
    draw -= weights[i];
  }
  return -1;
}

}  // namespace mlafuzz
