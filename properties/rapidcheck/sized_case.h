#ifndef MLAFUZZ_PROPERTIES_RAPIDCHECK_SIZED_CASE_H_
#define MLAFUZZ_PROPERTIES_RAPIDCHECK_SIZED_CASE_H_

#include "corpus/case.pb.h"
#include "properties/generate.h"
#include "rapidcheck.h"

namespace mlafuzz {

// Cases as a user of RapidCheck alone would draw them: its randomness, its
// growing size (every decision of the generator takes as large a part of its
// range as gen::inRange does), no steering, no shrinking. Cases keep to
// `options`, and are never unspecified under BuiltinContract().
rc::Gen<Case> SizedCase(const GeneratorOptions& options);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RAPIDCHECK_SIZED_CASE_H_
