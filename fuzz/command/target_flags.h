#ifndef MLAFUZZ_FUZZ_COMMAND_TARGET_FLAGS_H_
#define MLAFUZZ_FUZZ_COMMAND_TARGET_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/command/arguments.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// --target and its overrides, --flavour: what every command that runs kernels
// takes.
std::vector<Flag> TargetFlags();

// Of them those that bound the processes of libraries, for commands that name
// targets in other ways.
std::vector<Flag> RunnerLimitFlags();

// `flags` after TargetFlags().
std::vector<Flag> WithTargetFlags(const std::vector<Flag>& flags);

// Known targets only: NotFound names the nearest.
absl::StatusOr<Targets> ReadTargets(const Arguments& arguments);
// builtin on the backend that --backend and --device ask for.
absl::StatusOr<Targets> ReadBackendOf(const Arguments& arguments);
// All kernels from one target; RunnerLimitFlags() from `arguments`.
absl::StatusOr<Targets> ReadTarget(const std::string& name,
                                   const Arguments& arguments);

// --kernels, or by default what the targets replace.
absl::StatusOr<std::vector<std::string>> ReadKernels(const Arguments& arguments,
                                                     const Targets& targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_TARGET_FLAGS_H_
