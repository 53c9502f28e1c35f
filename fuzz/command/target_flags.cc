#include "fuzz/command/target_flags.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {

std::vector<Flag> TargetFlags() {
  return {
      {"target", "NAME", "all kernels of this target (default builtin)"},
      {"writer", "NAME", "the writer of another target"},
      {"gather", "NAME", "the gather of another target"},
      {"convert", "NAME", "the index conversion of another target"},
      {"decode", "NAME", "the decode of another target"},
      {"flavour", "asan+ubsan|plain|race", "build of the kernels"},
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
  // Targets of test engines: only the engine knows them.
  if (absl::StartsWith(targets.all(), "puzzle:")) return targets;
  const auto made = MakeTargets(targets);
  if (!made.ok()) return made.status();
  return targets;
}

absl::StatusOr<Targets> ReadTarget(const std::string& name) {
  Targets targets;
  targets.set_all(name);
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
