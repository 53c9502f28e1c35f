#ifndef MLAFUZZ_FUZZ_MUTATOR_MUTATOR_H_
#define MLAFUZZ_FUZZ_MUTATOR_MUTATOR_H_

#include "corpus/case.pb.h"
#include "properties/choices.h"
#include "properties/generate.h"

namespace mlafuzz {

// Changes `c` a little (one to a few knobs), or, once in a while, replaces it:
// the structured mutator behind every fuzz target. Knows the value classes of
// the corner table. Keeps the case buildable, within `options`, and not
// unspecified under BuiltinContract().
void MutateCase(Case& c, Choices& choices, const GeneratorOptions& options);

// A child of both: steps, pool, values and tables from either.
Case CrossOverCases(const Case& a, const Case& b, Choices& choices,
                    const GeneratorOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_MUTATOR_MUTATOR_H_
