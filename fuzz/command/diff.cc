// mlafuzz diff

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/campaign_flags.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/session.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

int Fail(const absl::Status& s) {
  return UsageError(absl::StrCat("diff: ", s.message()));
}

// The kernels that either side replaces.
std::vector<std::string> Kernels(const Targets& a, const Targets& b) {
  const auto first = *ReadKernels(Arguments(), a);
  const auto second = *ReadKernels(Arguments(), b);
  // "builtin" replaces none and so means all: the other side decides.
  if (first.size() == kAllKernels.size()) return second;
  if (second.size() == kAllKernels.size()) return first;
  std::vector<std::string> kernels = first;
  for (const std::string& kernel : second) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

// A sentence a kernel that is one and the same on both sides, whatever the
// targets' names: a comparison with itself finds only what comes and goes.
std::vector<std::string> ComparedWithThemselves(
    const Targets& a, const Targets& b,
    const std::vector<std::string>& kernels) {
  std::vector<std::string> notes;
  if (a.all() == b.all()) return notes;  // as it was asked for
  const auto first = MakeTargets(a), second = MakeTargets(b);
  if (!first.ok() || !second.ok()) return notes;  // an error of its own
  for (const Kernel kernel : kAllKernels) {
    if (std::find(kernels.begin(), kernels.end(), KernelName(kernel)) ==
        kernels.end()) {
      continue;
    }
    const Target* const x = first->For(kernel);
    const Target* const y = second->For(kernel);
    if (x == nullptr || y == nullptr || x->name() != y->name()) continue;
    notes.push_back(absl::StrCat("both sides have the ", KernelName(kernel),
                                 " of ", x->name(),
                                 ": it is compared with itself"));
  }
  return notes;
}

// Of one case, in words.
std::string Answer(const CaseRun& run, bool within_bounds) {
  if (!run.error().empty()) return "could not be run";
  if (!run.failures().empty()) return "different";
  if (run.compared() == 0) return "not compared";
  const char* equal =
      within_bounds ? "equal, or within the bounds" : "equal, bit for bit";
  if (run.not_compared().empty()) return equal;
  return absl::StrCat(
      equal, ", in ", run.compared(),
      run.compared() == 1 ? " call; not compared:" : " calls; not compared:");
}

int DiffStored(const Arguments& arguments, const Targets& a, const Targets& b,
               const std::vector<std::string>& kernels) {
  const auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return Fail(engine.status());
  const auto layout = CommonLayout({a, b}, kernels);
  if (!layout.ok()) return Fail(layout.status());
  CaseArguments cases = ReadCaseArguments(arguments.positional());
  std::vector<NamedCase> taken;
  for (NamedCase& c : cases.cases) {
    const Layout own = TokenLayoutOf(c.message.pool().layout()).layout;
    if (own == *layout) {
      taken.push_back(std::move(c));
    } else {
      cases.errors.push_back(
          absl::StrCat("diff: ", c.path, ": its pool is ", Layout_Name(own),
                       ", the kernels take ", Layout_Name(*layout)));
    }
  }
  cases.cases = std::move(taken);
  for (const std::string& error : cases.errors) UsageError(error);
  if (cases.cases.empty()) return kExitUsage;
  for (const std::string& note : ComparedWithThemselves(a, b, kernels)) {
    std::printf("note: %s\n", note.c_str());
  }
  CatchStopSignals();
  WorkRequest request;
  request.set_mode(WorkRequest::DIFF);
  *request.mutable_targets() = a;
  *request.mutable_other() = b;
  request.mutable_kernels()->Assign(kernels.begin(), kernels.end());
  request.set_no_oracle(arguments.Has("no-oracle"));
  request.set_within_bounds(arguments.Has("within-bounds"));
  request.set_lockstep(arguments.Has("lockstep"));
  for (const NamedCase& c : cases.cases) {
    request.add_cases(CanonicalBinary(c.message));
  }
  WatchdogLimits limits;
  const auto case_seconds =
      arguments.Seconds("case-seconds", limits.case_seconds);
  if (!case_seconds.ok()) return Fail(case_seconds.status());
  limits.case_seconds = *case_seconds;
  const auto runs = RunInWorkers(*engine, std::move(request), kernels, limits);
  if (!runs.ok()) return Fail(runs.status());
  bool found = false;
  bool compared = false;
  bool errors = !cases.errors.empty();
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const CaseRun& run = (*runs)[i];
    compared |= run.compared() > 0;
    std::printf("%s: %s\n", cases.cases[i].path.c_str(),
                Answer(run, arguments.Has("within-bounds")).c_str());
    for (const std::string& why : run.not_compared()) {
      std::printf("  %s\n", why.c_str());
    }
    for (const Failure& f : run.failures()) {
      std::printf("  step %u, %s: %s\n  %s\n", f.step(), f.kernel().c_str(),
                  f.detail().c_str(), f.cause().c_str());
      found = true;
    }
    if (!run.error().empty()) {
      UsageError(absl::StrCat(cases.cases[i].path, ": ", run.error()));
      errors = true;
    }
    for (const std::string& stages : run.stages()) {
      std::printf("  %s", stages.c_str());
    }
  }
  if (errors) return kExitUsage;
  if (found) return kExitFound;
  return compared ? kExitNothingFound : kExitUninformative;
}

int Run(const Arguments& arguments, const std::string& typed) {
  if (!arguments.Has("a") || !arguments.Has("b")) {
    return UsageError("diff needs two targets: mlafuzz diff CASE --a=T --b=T");
  }
  const auto a = ReadTarget(arguments.Get("a"), arguments);
  if (!a.ok()) return Fail(a.status());
  const auto b = ReadTarget(arguments.Get("b"), arguments);
  if (!b.ok()) return Fail(b.status());
  std::vector<std::string> kernels = Kernels(*a, *b);
  if (arguments.Has("kernels")) {
    auto given = ReadKernels(arguments, *a);
    if (!given.ok()) return Fail(given.status());
    kernels = *std::move(given);
  }
  if (!arguments.positional().empty()) {
    return DiffStored(arguments, *a, *b, kernels);
  }
  if (arguments.Has("lockstep")) {
    return UsageError(
        "diff: --lockstep needs cases: mlafuzz diff CASE --lockstep --a=T "
        "--b=T");
  }
  if (!arguments.Has("time") && !arguments.Has("cases")) {
    return UsageError("diff needs cases: a CASE, --time=60s or --cases=N");
  }
  CampaignOptions options;
  options.command = typed;
  options.targets = *a;
  options.other = *b;
  // What is claimed is of both.
  if (a->device_name().empty()) {
    options.targets.set_device_name(b->device_name());
  }
  options.no_oracle = arguments.Has("no-oracle");
  options.within_bounds = arguments.Has("within-bounds");
  options.notes = ComparedWithThemselves(*a, *b, kernels);
  options.kernels = std::move(kernels);
  if (absl::Status s = ReadCampaignFlags(arguments, &options); !s.ok()) {
    return Fail(s);
  }
  return CampaignToExitCode(options);
}

std::vector<Flag> Flags() {
  std::vector<Flag> flags = {
      {"a", "NAME", "one target"},
      {"b", "NAME", "the other"},
      {"lockstep", nullptr,
       "of CASEs: decodes stage by stage, the first that differs named"},
      {"within-bounds", nullptr,
       "decodes may differ as far as the oracle passes both"},
      {"no-oracle", nullptr, "only compare; do not say who is right"},
      {"flavour", "asan+ubsan|plain|race", "build of the kernels"},
  };
  for (const std::vector<Flag>& more : {RunnerLimitFlags(), CampaignFlags()}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

}  // namespace

Command DiffCommand() {
  return {"diff", "[CASE...]", "two targets against each other, bit for bit",
          Flags(), Run};
}

}  // namespace mlafuzz
