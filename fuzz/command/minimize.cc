// mlafuzz minimize

#include <cstdio>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"

namespace mlafuzz {
namespace {

int Run(const Arguments& arguments, const std::string&) {
  const auto error = [](absl::string_view message) {
    return UsageError(absl::StrCat("minimize: ", message));
  };
  if (arguments.positional().size() != 1) {
    return error("needs one case: mlafuzz minimize CASE");
  }
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return error(targets.status().message());
  const auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return error(kernels.status().message());
  const auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return error(engine.status().message());
  const CaseArguments cases = ReadCaseArguments(arguments.positional());
  for (const std::string& e : cases.errors) UsageError(e);
  if (cases.cases.size() != 1) {
    return cases.errors.empty() ? error("needs one case, not a folder of them")
                                : kExitUsage;
  }
  CatchStopSignals();
  const std::string binary = CanonicalBinary(cases.cases[0].message);
  // First what it fails by; shown at once, then made small.
  WorkRequest request;
  *request.mutable_targets() = *targets;
  request.add_cases(binary);
  WorkRequest run_request = request;
  run_request.set_mode(WorkRequest::RUN);
  const auto runs =
      RunInWorkers(*engine, std::move(run_request), *kernels, WatchdogLimits());
  if (!runs.ok()) return error(runs.status().message());
  if ((*runs)[0].failures().empty()) {
    std::printf("%s: does not fail; nothing to minimise\n",
                cases.cases[0].path.c_str());
    return kExitNothingFound;
  }
  const Failure& f = (*runs)[0].failures(0);
  std::printf("%s: %s %s in %s: %s\n", cases.cases[0].path.c_str(),
              f.kernel().c_str(), f.verdict().c_str(), f.property().c_str(),
              f.cause().c_str());
  std::fflush(stdout);
  request.set_cause(f.key());
  const auto result = MinimizeInWorker(*engine, request, WatchdogLimits());
  if (!result.ok()) return error(result.status().message());
  if (!result->reproduced()) {
    std::printf("it does not fail the same way twice: flaky\n");
    return kExitFound;
  }
  const auto small = ParseCaseBinary(result->case_binary());
  if (!small.ok()) return error(small.status().message());
  const std::string text = FormatCaseText(*small);
  std::printf("%d tries, %d -> %d bytes\n", static_cast<int>(result->tries()),
              static_cast<int>(binary.size()),
              static_cast<int>(result->case_binary().size()));
  if (!arguments.Has("out")) {
    std::printf("%s", text.c_str());
    return kExitFound;
  }
  const std::string out = CallersPath(arguments.Get("out"));
  if (absl::Status s = WriteFileAtomically(out, text); !s.ok()) {
    return error(s.message());
  }
  std::printf("%s\n", ShownPath(out).c_str());
  return kExitFound;
}

}  // namespace

Command MinimizeCommand() {
  return {"minimize", "CASE", "the smallest case that fails by the same cause",
          WithTargetFlags({{"out", "FILE", "write it there"}}), Run};
}

}  // namespace mlafuzz
