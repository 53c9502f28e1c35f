#include "fuzz/command/target_flags.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fuzz/command/environment.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {

namespace {

// A library's path is the caller's, whatever folder this program runs in.
void ResolveLibraries(Targets* targets) {
  for (std::string* name :
       {targets->mutable_all(), targets->mutable_writer(),
        targets->mutable_gather(), targets->mutable_convert(),
        targets->mutable_decode()}) {
    if (IsForeign(*name)) {
      *name = absl::StrCat("lib:", CallersPath(name->substr(4)));
    }
  }
}

absl::Status ReadRunnerLimits(const Arguments& arguments, Targets* targets) {
  double numbers[3] = {0, 0, 0};
  const char* const flags[3] = {"call-timeout", "start-timeout",
                                "memory-limit"};
  for (int i = 0; i < 3; ++i) {
    if (!arguments.Has(flags[i])) continue;
    if (!absl::SimpleAtod(arguments.Get(flags[i]), &numbers[i]) ||
        !(numbers[i] > 0 && numbers[i] < 1e6)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flags[i], " takes a positive number, got \"",
                       arguments.Get(flags[i]), "\""));
    }
  }
  targets->set_call_seconds(numbers[0]);
  targets->set_start_seconds(numbers[1]);
  targets->set_resident_mib(static_cast<std::uint64_t>(numbers[2]));
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> TargetFlags() {
  return {
      {"target", "NAME", "all kernels of this target (default builtin)"},
      {"writer", "NAME", "the writer of another target"},
      {"gather", "NAME", "the gather of another target"},
      {"convert", "NAME", "the index conversion of another target"},
      {"decode", "NAME", "the decode of another target"},
      {"flavour", "asan+ubsan|plain|race", "build of the kernels"},
      {"call-timeout", "SECONDS", "of one call of a lib: target (default 5)"},
      {"start-timeout", "SECONDS", "until a lib: target is loaded (60)"},
      {"memory-limit", "MIB", "of a lib: target's process (2048)"},
  };
}

std::vector<Flag> WithTargetFlags(const std::vector<Flag>& flags) {
  std::vector<Flag> all = TargetFlags();
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

absl::StatusOr<Targets> ReadTargets(const Arguments& arguments) {
  Targets targets;
  targets.set_all(arguments.Has("target") ? arguments.Get("target")
                                          : "builtin");
  targets.set_writer(arguments.Get("writer"));
  targets.set_gather(arguments.Get("gather"));
  targets.set_convert(arguments.Get("convert"));
  targets.set_decode(arguments.Get("decode"));
  if (absl::Status s = ReadRunnerLimits(arguments, &targets); !s.ok()) return s;
  ResolveLibraries(&targets);
  // Targets of test engines: only the engine knows them.
  if (absl::StartsWith(targets.all(), "puzzle:")) return targets;
  const auto made = MakeTargets(targets);
  if (!made.ok()) return made.status();
  return targets;
}

absl::StatusOr<Targets> ReadTarget(const std::string& name) {
  Targets targets;
  targets.set_all(name);
  ResolveLibraries(&targets);
  const auto made = MakeTargets(targets);
  if (!made.ok()) return made.status();
  return targets;
}

absl::StatusOr<std::vector<std::string>> ReadKernels(const Arguments& arguments,
                                                     const Targets& targets) {
  std::vector<std::string> kernels;
  if (!arguments.Has("kernels")) {
    for (const Kernel kernel : KernelsUnderTest(targets)) {
      kernels.push_back(KernelName(kernel));
    }
    return kernels;
  }
  const std::vector<std::string> known = {"writer", "gather", "convert",
                                          "decode"};
  const std::string typed = arguments.Get("kernels");
  for (const std::string& kernel : std::vector<std::string>(
           absl::StrSplit(typed, ',', absl::SkipEmpty()))) {
    if (std::find(known.begin(), known.end(), kernel) == known.end()) {
      const std::string near = Nearest(kernel, known);
      return absl::InvalidArgumentError(
          absl::StrCat("unknown kernel \"", kernel, "\" in --kernels; ",
                       near.empty() ? "known: writer, gather, convert, decode"
                                    : absl::StrCat("nearest: ", near)));
    }
    kernels.push_back(kernel);
  }
  if (kernels.empty()) {
    return absl::InvalidArgumentError(
        "--kernels names no kernel; known: writer, gather, convert, decode");
  }
  return kernels;
}

}  // namespace mlafuzz
