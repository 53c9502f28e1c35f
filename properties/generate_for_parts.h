// How the cases for the fields of each kernel are made; see generate_for.h.
#ifndef MLAFUZZ_PROPERTIES_GENERATE_FOR_PARTS_H_
#define MLAFUZZ_PROPERTIES_GENERATE_FOR_PARTS_H_

#include <initializer_list>
#include <vector>

#include "corpus/case.pb.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

struct FieldRecipe {
  const char* field;  // "writer.tail"
  // Pool and steps of an empty case.
  void (*make)(Choices& choices, const GeneratorOptions& options, Case& c);
};

std::vector<FieldRecipe> WriterRecipes();
std::vector<FieldRecipe> GatherRecipes();
std::vector<FieldRecipe> ConvertRecipes();
std::vector<FieldRecipe> DecodeRecipes();

// Values of one of `patterns`.
inline void SetPattern(Choices& choices,
                       std::initializer_list<Values::Pattern> patterns,
                       Values& values) {
  values.Clear();
  values.set_pattern(choices.Pick(patterns));
  if (values.pattern() != Values::ZERO)
    values.set_seed(choices.Below(1u << 16));
}

// Rows of one kind and class of scales.
inline void SetFill(Choices& choices, Fill::Kind kind, Fill::Scales scales,
                    Fill& fill) {
  fill.Clear();
  fill.set_kind(kind);
  fill.set_scales(scales);
  fill.set_seed(choices.Below(1u << 16));
}

// A pool of so many pages that two entries of a table seldom name the same.
inline Pool ManyPages(Choices& choices, const GeneratorOptions& options) {
  Pool pool;
  do {
    pool = GeneratePool(choices, options);
  } while (pool.page_size() > 4);
  pool.set_pages(16 + choices.Below(4));
  return pool;
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_GENERATE_FOR_PARTS_H_
