#include "properties/generate_for.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "properties/fields.h"
#include "properties/generate_for_parts.h"
#include "properties/layout_pool.h"
#include "properties/variants.h"

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

// Whether cases of this layout can show the field.
bool HasCases(Layout layout, const std::string& field) {
  if (!RuleApplies(layout, field)) return false;
  // Where the caller must not send equal slots, none shows.
  if (field == "writer.duplicates") return TakesAnySlot(layout);
  const bool copied = TokenLayoutOf(layout).copied;
  // Copied rows are taken one by one, whatever page they lie in.
  return !copied || (field != "gather.page_tasks" && field != "gather.lengths");
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

// Looked up: a third of all cases ask it of every field, and names are slow to
// compare, the more so on many threads: libFuzzer takes notes of each
// comparison in memory that they share.
bool CanGenerateFor(int field, Layout layout) {
  using Table = std::array<std::vector<char>, Layout_ARRAYSIZE>;
  static const auto* const kTable = [] {
    auto* table = new Table;
    for (int of = 0; of < Layout_ARRAYSIZE; ++of) {
      if (!Layout_IsValid(of)) continue;
      for (std::size_t i = 0; i < AllFields().size(); ++i) {
        (*table)[static_cast<std::size_t>(of)].push_back(
            Recipes()[i] != nullptr &&
            HasCases(static_cast<Layout>(of), AllFields()[i].name));
      }
    }
    return table;
  }();
  return (*kTable)[static_cast<std::size_t>(layout)]
                  [static_cast<std::size_t>(field)] != 0;
}

Case GenerateFor(int field, Choices& choices, const GeneratorOptions& options) {
  Case c;
  if (choices.OneIn(2)) c.set_schedule(choices.Below(1u << 16));
  c.set_poison(choices.Below(1u << 16));
  Recipes()[static_cast<std::size_t>(field)](choices, options, c);
  Vary(choices, options, c);
  return c;
}

int PickField(Choices& choices, const GeneratorOptions& options) {
  const std::vector<Field>& fields = AllFields();
  std::vector<std::uint32_t> weights(fields.size(), 0);
  std::uint32_t sum = 0;
  for (const bool alike : {false, true}) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!Has(options, fields[i].kernel) ||
          !CanGenerateFor(static_cast<int>(i), options.layout)) {
        continue;
      }
      weights[i] =
          alike ? 1
          : options.steering != nullptr && i < options.steering->weights.size()
              ? options.steering->weights[i]
              : 0;
      sum += weights[i];
    }
    if (sum != 0) break;
  }
  if (sum == 0) return -1;
  std::uint32_t draw = choices.Below(sum);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (draw < weights[i]) return static_cast<int>(i);
    draw -= weights[i];
  }
  return -1;
}

}  // namespace mlafuzz
