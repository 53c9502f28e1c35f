#ifndef MLAFUZZ_PROPERTIES_RAPIDCHECK_ARBITRARY_CASE_H_
#define MLAFUZZ_PROPERTIES_RAPIDCHECK_ARBITRARY_CASE_H_

#include <iosfwd>

#include "corpus/case.pb.h"
#include "properties/generate.h"
#include "rapidcheck.h"

namespace mlafuzz {

// Cases of the engine-neutral generators, from RapidCheck's own randomness.
// They shrink by the structural minimiser's reductions, one at a time, and so
// to a case that cannot be reduced further; the path that RapidCheck prints
// (reproduce=...) leads to it again. Cases keep to `options`, and are never
// unspecified under BuiltinContract().
rc::Gen<Case> ArbitraryCase(const GeneratorOptions& options);

// How RapidCheck prints a case: as text that can be stored and replayed.
void showValue(const Case& c, std::ostream& out);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RAPIDCHECK_ARBITRARY_CASE_H_
