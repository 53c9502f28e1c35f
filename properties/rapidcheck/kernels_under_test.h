#ifndef MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_
#define MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "properties/checker.h"

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

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RAPIDCHECK_KERNELS_UNDER_TEST_H_
