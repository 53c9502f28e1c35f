#ifndef MLAFUZZ_FUZZ_COMMAND_ENVIRONMENT_H_
#define MLAFUZZ_FUZZ_COMMAND_ENVIRONMENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corpus/types.pb.h"
#include "fuzz/campaign/options.h"

namespace mlafuzz {

// How this process was called and what it carries.

// Before anything else; keeps argv[0] for finding runfiles.
void InitEnvironment(const char* argv0);

// A path as the caller meant it: relative ones against the folder where the
// caller is (`bazel run` starts programs elsewhere). Empty stays empty.
std::string CallersPath(const std::string& path);
// The same the other way: short, for messages.
std::string ShownPath(const std::string& path);

// Whether a file can be made, or replaced, as `flag` asks: before work whose
// result it is for. InvalidArgument if the path is a folder, NotFound if its
// folder is not there, PermissionDenied if nothing can be written into that;
// each names the flag and the way out.
absl::Status CanWriteFile(absl::string_view flag, const std::string& path);

// What to type to start this program: "bazel run //:mlafuzz --", or its path.
std::string ProgramCommand();

// The engine of a flavour ("": asan+ubsan), from the runfiles. InvalidArgument
// for an unknown flavour, Unavailable if it was not built in.
absl::StatusOr<Engine> FindEngine(absl::string_view flavour);
// The empty libFuzzer target of the benchmark, of a flavour.
absl::StatusOr<std::string> FindEmptyTarget(absl::string_view flavour);

// The library of kernels/device/testing/faults.cu; empty: it was not built in.
std::string FaultLibrary();
std::string StaleGraphLibrary();

// baselines/run_baseline; Unavailable if it was not built in.
absl::StatusOr<std::string> BaselineProgram();

// Stored cases that come with this program: those of fp8_ds_mla, or those of
// all other layouts.
absl::StatusOr<std::string> StoredCases(Layout layout = FP8_DS_MLA);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_ENVIRONMENT_H_
