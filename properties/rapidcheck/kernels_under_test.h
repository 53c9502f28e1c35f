#ifndef MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_
#define MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "properties/checker.h"
#include "properties/generate.h"

namespace mlafuzz {

// The kernels that the properties run: builtin, or what the environment
// variable MLAFUZZ_TARGET names (`bazel test --test_env=MLAFUZZ_TARGET=...`).
const TargetSet& KernelsUnderTest();
Executor& PropertyExecutor();

// Runs the case (with all relations, if asked for).
CaseResult Run(const Case& c, bool relations = false);

// Fails the RapidCheck property that calls it if any check of `properties` (all
// if empty) failed. Says which in the log.
void HoldsFor(const Case& c, std::initializer_list<const char*> properties);

// The same for relations alone: only `name` runs. Discards a case to which it
// does not apply.
void RelationHolds(const Case& c, const std::string& name);

// A relation of decodes, for every right decode (or the one under test): their
// arithmetics differ, and with them what may differ between two runs. Discards
// a case to which it applies for none.
void DecodeRelationHolds(const Case& c, const std::string& name);

// The options of a decode alone, which nobody has to refuse.
inline constexpr GeneratorOptions kDecodesOnly = {.writer = false,
                                                  .gather = false,
                                                  .convert = false,
                                                  .decode = true,
                                                  .invalid = false};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_
