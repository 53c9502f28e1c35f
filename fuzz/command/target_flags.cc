#include "fuzz/command/target_flags.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fuzz/command/environment.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/session.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/foreign/python.h"

namespace mlafuzz {

namespace {

// A path is the caller's, whatever folder this program runs in.
void ResolveLibraries(const Arguments& arguments, Targets* targets) {
  // A venv may be named without a slash; any other such word is a program.
  const std::string python = arguments.Get("python");
  std::error_code error;
  const bool is_path =
      absl::StrContains(python, '/') ||
      std::filesystem::is_directory(CallersPath(python), error);
  targets->set_python(is_path ? CallersPath(python) : python);
  targets->set_python_folder(CallersPath("."));
  for (std::string* name :
       {targets->mutable_all(), targets->mutable_writer(),
        targets->mutable_gather(), targets->mutable_convert(),
        targets->mutable_decode()}) {
    if (!IsForeign(*name)) continue;
    const absl::string_view prefix =
        IsPython(*name) ? kPythonTarget : absl::string_view("lib:");
    const std::string path(WithoutDevice(*name).substr(prefix.size()));
    if (IsPython(*name) && !IsPath(ParsePythonName(path))) continue;
    *name = absl::StrCat(IsOnDevice(*name) ? kOnDevice : "", prefix,
                         CallersPath(path));
  }
}

// MiB that a runner's process may take: less than a small one takes, or more
// than machines have, is a slip of the keyboard.
constexpr std::uint64_t kLeastMib = 16;
constexpr std::uint64_t kMostMib = 1 << 20;

absl::Status ReadRunnerLimits(const Arguments& arguments, Targets* targets) {
  const auto call = arguments.Seconds("call-timeout", 0);
  if (!call.ok()) return call.status();
  const auto start = arguments.Seconds("start-timeout", 0);
  if (!start.ok()) return start.status();
  const auto mib = arguments.Number("memory-limit", 0);
  if (!mib.ok()) return mib.status();
  if (arguments.Has("memory-limit") && (*mib < kLeastMib || *mib > kMostMib)) {
    return absl::InvalidArgumentError(absl::StrCat("--memory-limit needs ",
                                                   kLeastMib, " to ", kMostMib,
                                                   " MiB, got ", *mib));
  }
  targets->set_call_seconds(*call);
  targets->set_start_seconds(*start);
  targets->set_resident_mib(*mib);
  return absl::OkStatus();
}

// All targets on the GPU that --backend and --device ask for; those that are
// named "cuda:..." anyway.
absl::Status ReadBackend(const Arguments& arguments, Targets* targets) {
  std::string backend = arguments.Get("backend");
  if (backend.empty()) backend = "host";
  if (backend != "host" && backend != "cuda" && backend != "auto") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--backend takes host, cuda or auto, got \"", backend, "\""));
  }
  const std::string guard = arguments.Get("guard");
  if (arguments.Has("guard") && guard != "before" && guard != "behind") {
    return absl::InvalidArgumentError(
        absl::StrCat("--guard takes before or behind, got \"", guard, "\""));
  }
  const std::string sanitizer = arguments.Get("sanitizer");
  const char* const tools[] = {"memcheck", "racecheck", "initcheck",
                               "synccheck"};
  if (arguments.Has("sanitizer") &&
      std::find(std::begin(tools), std::end(tools), sanitizer) ==
          std::end(tools)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sanitizer takes memcheck, racecheck, initcheck or "
                     "synccheck, got \"",
                     sanitizer, "\""));
  }
  std::uint32_t device = 0;
  if (arguments.Has("device") &&
      (!absl::SimpleAtoi(arguments.Get("device"), &device) || device > 255)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device takes the number of a GPU, got \"",
                     arguments.Get("device"), "\""));
  }
  targets->set_device(device);
  targets->set_guard(guard);
  targets->set_sanitizer(sanitizer);
  std::string* const names[] = {
      targets->mutable_all(), targets->mutable_writer(),
      targets->mutable_gather(), targets->mutable_convert(),
      targets->mutable_decode()};
  const auto on_device = [](const std::string* n) { return IsOnDevice(*n); };
  const bool any = std::any_of(std::begin(names), std::end(names), on_device);
  if (!any && backend == "host") {
    for (const char* flag : {"device", "guard", "sanitizer"}) {
      if (!arguments.Has(flag)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, " is of the CUDA backend alone; add --backend=cuda"));
    }
    return absl::OkStatus();
  }
  // Modules of Python allocate device memory themselves, and their runner says
  // what it is on: they need no backend of this build.
  const bool python_alone = std::all_of(
      std::begin(names), std::end(names),
      [](const std::string* n) { return n->empty() || IsPython(*n); });
  const auto name =
      python_alone && backend != "auto"
          ? absl::StatusOr<std::string>("")
          : DescribeDevice({.cuda = true, .device = static_cast<int>(device)});
  if (!name.ok()) {
    if (backend != "auto" || any) {
      return absl::UnavailableError(absl::StrCat(
          name.status().message(), any ? "" : "; --backend=host needs no GPU"));
    }
    std::fprintf(stderr, "mlafuzz: on the host, for %s\n",
                 std::string(name.status().message()).c_str());
    return absl::OkStatus();
  }
  targets->set_device_name(*name);
  if (backend == "host") return absl::OkStatus();
  for (std::string* n : names) {
    if (!n->empty() && !IsOnDevice(*n)) *n = absl::StrCat(kOnDevice, *n);
  }
  return absl::OkStatus();
}

// What the modules of a set get, and what they are on, where nobody else has
// said it.
void NoteModules(const TargetSet& set, Targets* targets) {
  std::set<std::string> ways;
  for (const std::shared_ptr<Target>& target : set.targets) {
    if (target == nullptr || target->foreign() == nullptr) continue;
    const ForeignTarget& foreign = *target->foreign();
    if (targets->device_name().empty()) {
      targets->set_device_name(foreign.device());
    }
    if (const std::string& way = foreign.description().tensors();
        !way.empty() && ways.insert(way).second) {
      targets->add_tensors(way);
    }
  }
}

// A target that has kernels of its own, and those that this run would call.
struct Replacement {
  std::string target;
  std::vector<Kernel> kernels;
};

const TargetInfo* FindInfo(absl::string_view name) {
  for (const TargetInfo& info : AllTargets()) {
    if (info.name == WithoutDevice(name) && !info.replaces.empty()) {
      return &info;
    }
  }
  return nullptr;
}

std::vector<Replacement> Replacements(const Targets& targets) {
  const std::string* const own[] = {&targets.writer(), &targets.gather(),
                                    &targets.convert(), &targets.decode()};
  std::vector<Replacement> all;
  const auto add = [&all](const TargetInfo* info, Kernel kernel) {
    for (Replacement& r : all) {
      if (r.target != info->name) continue;
      r.kernels.push_back(kernel);
      return;
    }
    all.push_back({std::string(info->name), {kernel}});
  };
  for (const Kernel kernel : kAllKernels) {
    const std::string& name = *own[static_cast<std::size_t>(kernel)];
    const TargetInfo* info = FindInfo(name.empty() ? targets.all() : name);
    if (info != nullptr &&
        std::find(info->replaces.begin(), info->replaces.end(), kernel) !=
            info->replaces.end()) {
      add(info, kernel);
    }
  }
  return all;
}

// Every target that is named and has kernels of its own has one that is called.
absl::Status CheckAllAreUsed(const Targets& targets) {
  const std::vector<Replacement> used = Replacements(targets);
  for (const std::string* name :
       {&targets.all(), &targets.writer(), &targets.gather(),
        &targets.convert(), &targets.decode()}) {
    const TargetInfo* info = FindInfo(*name);
    if (info == nullptr ||
        std::any_of(used.begin(), used.end(), [&](const Replacement& r) {
          return r.target == info->name;
        })) {
      continue;
    }
    std::vector<std::string> names;
    for (const Kernel kernel : info->replaces) {
      names.push_back(KernelName(kernel));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing of ", *name, " would run: it differs from builtin in its ",
        absl::StrJoin(names, ", "), " alone; use it as --", names[0], "=",
        *name));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Flag> TargetFlags() {
  std::vector<Flag> flags = {
      {"target", "NAME", "all kernels of this target (default builtin)"},
      {"writer", "NAME", "the writer of another target"},
      {"gather", "NAME", "the gather of another target"},
      {"convert", "NAME", "the index conversion of another target"},
      {"decode", "NAME", "the decode of another target"},
      {"flavour", "asan+ubsan|plain|race", "build of the kernels"},
      {"backend", "host|cuda|auto", "where the kernels run (default host)"},
      {"device", "N", "the GPU of --backend=cuda (default 0)"},
      {"guard", "before|behind", "unmapped GPU memory next to each buffer"},
  };
  const std::vector<Flag> limits = RunnerLimitFlags();
  flags.insert(flags.end(), limits.begin(), limits.end());
  return flags;
}

std::vector<Flag> RunnerLimitFlags() {
  return {
      {"call-timeout", "5s", "of one call of an attached target (default 5s)"},
      {"start-timeout", "60s", "until a target is attached (default 60s)"},
      {"memory-limit", "MIB", "of an attached target (default 2048)"},
      {"python", "PATH", "interpreter or venv of python: targets"},
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
  ResolveLibraries(arguments, &targets);
  if (absl::Status s = ReadBackend(arguments, &targets); !s.ok()) return s;
  // Targets of test engines: only the engine knows them.
  if (absl::StartsWith(targets.all(), "puzzle:")) return targets;
  const auto made = MakeTargets(targets);
  if (!made.ok()) return made.status();
  NoteLibraries(*made, &targets);
  NoteModules(*made, &targets);
  if (absl::Status s = CheckAllAreUsed(targets); !s.ok()) return s;
  return targets;
}

absl::StatusOr<Targets> ReadBackendOf(const Arguments& arguments) {
  Targets targets;
  targets.set_all("builtin");
  if (absl::Status s = ReadBackend(arguments, &targets); !s.ok()) return s;
  return targets;
}

absl::StatusOr<Targets> ReadTarget(const std::string& name,
                                   const Arguments& arguments) {
  Targets targets;
  targets.set_all(name);
  if (absl::Status s = ReadRunnerLimits(arguments, &targets); !s.ok()) return s;
  ResolveLibraries(arguments, &targets);
  if (absl::Status s = ReadBackend(arguments, &targets); !s.ok()) return s;
  const auto made = MakeTargets(targets);
  if (!made.ok()) return made.status();
  NoteLibraries(*made, &targets);
  NoteModules(*made, &targets);
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
  for (const std::string& kernel :
       std::vector<std::string>(absl::StrSplit(typed, ','))) {
    if (kernel.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--kernels=", typed, " has an empty name; write --kernels=writer,",
          "gather for two"));
    }
    if (std::find(kernels.begin(), kernels.end(), kernel) != kernels.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--kernels=", typed, " names ", kernel, " twice"));
    }
    if (std::find(known.begin(), known.end(), kernel) == known.end()) {
      const std::string near = Nearest(kernel, known);
      return absl::InvalidArgumentError(
          absl::StrCat("unknown kernel \"", kernel, "\" in --kernels; ",
                       near.empty() ? "known: writer, gather, convert, decode"
                                    : absl::StrCat("nearest: ", near)));
    }
    kernels.push_back(kernel);
  }
  // Nor would a library that has none of them.
  for (const std::string* name :
       {&targets.all(), &targets.writer(), &targets.gather(),
        &targets.convert(), &targets.decode()}) {
    if (!IsForeign(*name)) continue;
    const std::vector<Kernel> own = KernelsUnderTest(targets);
    if (std::none_of(own.begin(), own.end(), [&](Kernel kernel) {
          return std::find(kernels.begin(), kernels.end(),
                           KernelName(kernel)) != kernels.end();
        })) {
      return absl::InvalidArgumentError(
          absl::StrCat("--kernels=", typed, " has none of the kernels of ",
                       *name, "; `mlafuzz targets --check` says which it has"));
    }
  }
  // A wrong twin that is never called would look right.
  const std::vector<Replacement> replaced = Replacements(targets);
  for (const Replacement& r : replaced) {
    std::vector<std::string> names;
    for (const Kernel kernel : r.kernels) names.push_back(KernelName(kernel));
    if (std::none_of(names.begin(), names.end(), [&](const std::string& name) {
          return std::find(kernels.begin(), kernels.end(), name) !=
                 kernels.end();
        })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--kernels=", typed, " leaves out the ", absl::StrJoin(names, ", "),
          " of ", r.target, ", and the others are the builtin's: nothing of ",
          r.target, " would run; add --kernels=", absl::StrJoin(names, ",")));
    }
  }
  return kernels;
}

}  // namespace mlafuzz
