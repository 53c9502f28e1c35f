// mlafuzz replay, mlafuzz explain

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/chain_replay.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/layouts.h"
#include "fuzz/command/replay_json.h"
#include "fuzz/command/target_flags.h"

namespace mlafuzz {
namespace {

struct Setup {
  Engine engine;
  Targets targets;
  std::vector<std::string> kernels;
  WatchdogLimits limits;
  std::uint32_t repeat = 1;
};

// What a finding's command gives beside its targets.
std::vector<Flag> ReplayFlags() {
  return WithTargetFlags({
      {"sanitizer", "memcheck|racecheck|...",
       "on the GPU, under compute-sanitizer"},
      {"chain", "WRITER,GATHER,READER",
       "run no kernels: judge named contracts on each other's rows"},
      {"repeat", "N", "runs of each case, in one process (default 1)"},
      {"case-seconds", "10s", "a case that takes longer hangs (default 10s)",
       /*hidden=*/true},
  });
}

absl::StatusOr<Setup> ReadSetup(const Arguments& arguments) {
  Setup setup;
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return targets.status();
  setup.targets = *targets;
  const auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return kernels.status();
  setup.kernels = *kernels;
  const auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return engine.status();
  setup.engine = *engine;
  const auto case_seconds =
      arguments.Seconds("case-seconds", setup.limits.case_seconds);
  if (!case_seconds.ok()) return case_seconds.status();
  setup.limits.case_seconds = *case_seconds;
  constexpr std::uint64_t kMostRuns = 1'000'000;
  const auto repeat = arguments.Number("repeat", 1);
  if (!repeat.ok()) return repeat.status();
  if (*repeat == 0 || *repeat > kMostRuns) {
    return absl::InvalidArgumentError(
        absl::StrCat("--repeat needs 1 to ", kMostRuns, ", got ", *repeat));
  }
  setup.repeat = static_cast<std::uint32_t>(*repeat);
  return setup;
}

absl::StatusOr<std::vector<CaseRun>> RunAll(const Setup& setup,
                                            const CaseArguments& cases,
                                            bool explain) {
  WorkRequest request;
  request.set_mode(WorkRequest::RUN);
  *request.mutable_targets() = setup.targets;
  request.set_explain(explain);
  request.set_repeat(setup.repeat);
  for (const NamedCase& c : cases.cases) {
    request.add_cases(CanonicalBinary(c.message));
  }
  return RunInWorkers(setup.engine, std::move(request), setup.kernels,
                      setup.limits);
}

// A step's worst line: a failure, else a pass, else what else there is.
int Weight(const std::string& verdict) {
  if (verdict == "pass") return 1;
  if (verdict == "uninformative" || verdict == "unspecified" ||
      verdict == "skipped") {
    return 0;
  }
  return 2;
}

// A case's run. `other`: why it says nothing of the kernels asked for, in
// words; empty where it does.
struct Judged {
  CaseRun run;
  std::string other;
};

// Which field of the contract leaves a call open, or refuses it, and why: one
// line a call of which nothing was said.
void PrintNotJudged(const CaseRun& run) {
  bool unspecified = false;
  for (const CaseRun::Line& check : run.lines()) {
    const bool open = check.verdict() == "unspecified";
    if ((!open && check.verdict() != "skipped") || check.detail().empty()) {
      continue;
    }
    unspecified |= open;
    std::printf("  step %u, %s %s: %s\n", check.step(), check.kernel().c_str(),
                check.verdict().c_str(), check.detail().c_str());
  }
  if (unspecified) {
    std::printf("  a case with an unspecified call is not run\n");
  }
}

// "PATH: step 0 writer pass, step 1 gather fail"; failures below it. Relations
// come after all steps, so a step's checks do not stand together.
void Print(const std::string& path, const Judged& judged) {
  const CaseRun& run = judged.run;
  struct Step {
    std::string kernel;
    std::string verdict;
  };
  std::map<std::uint32_t, Step> steps;
  for (const CaseRun::Line& check : run.lines()) {
    Step& step = steps[check.step()];
    step.kernel = check.kernel();
    if (step.verdict.empty() ||
        Weight(check.verdict()) > Weight(step.verdict)) {
      step.verdict = check.verdict();
    }
  }
  std::string line = path + ":";
  for (const auto& [number, step] : steps) {
    absl::StrAppend(&line, line.back() == ':' ? " " : ", ", "step ", number,
                    " ", step.kernel, " ", step.verdict);
  }
  if (run.lines().empty() && run.failures().empty() && run.error().empty()) {
    absl::StrAppend(&line, " nothing was judged");
  }
  if (!run.error().empty()) absl::StrAppend(&line, " ", run.error());
  if (run.runs() > 1) {
    absl::StrAppend(&line, "; failed in ", run.failed_runs(), " of ",
                    run.runs(), " runs in one process");
  }
  if (!judged.other.empty()) absl::StrAppend(&line, "; ", judged.other);
  std::printf("%s\n", line.c_str());
  PrintNotJudged(run);
  for (const Failure& f : run.failures()) {
    std::printf("  %s %s in %s: %s\n", f.kernel().c_str(), f.verdict().c_str(),
                f.property().c_str(), f.cause().c_str());
    if (!f.detail().empty()) std::printf("    %s\n", f.detail().c_str());
  }
}

// Runs all cases, each layout's by themselves: where nobody names a target,
// those that are not fp8_ds_mla on this project's kernels for them.
absl::StatusOr<std::vector<Judged>> RunLayouts(const Arguments& arguments,
                                               const Setup& setup,
                                               const CaseArguments& cases,
                                               bool explain) {
  std::vector<Judged> runs(cases.cases.size());
  for (const TokenLayout& layout : TokenLayouts()) {
    CaseArguments own;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < cases.cases.size(); ++i) {
      const Layout of = cases.cases[i].message.pool().layout();
      if (TokenLayoutOf(of).layout != layout.layout) continue;
      own.cases.push_back(cases.cases[i]);
      numbers.push_back(i);
    }
    if (numbers.empty()) continue;
    Setup with = setup;
    UseBuiltinFor(arguments, layout.layout, &with.targets, &with.kernels);
    auto some = RunAll(with, own, explain);
    if (!some.ok()) return some.status();
    const std::string other =
        OtherLayout(with.targets, with.kernels, layout.layout);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      runs[numbers[i]] = {std::move((*some)[i]), other};
    }
  }
  return runs;
}

// The exit code of a set of runs; errors count as usage errors unless
// something was found.
int Judge(const std::vector<Judged>& runs, std::size_t errors) {
  if (errors > 0) return kExitUsage;
  bool informative = false;
  for (const Judged& judged : runs) {
    // It could not be run.
    if (!judged.run.error().empty()) return kExitUsage;
  }
  for (const Judged& judged : runs) {
    if (!judged.run.failures().empty()) return kExitFound;
    for (const CaseRun::Line& line : judged.run.lines()) {
      informative |= judged.other.empty() && line.verdict() == "pass";
    }
  }
  return informative ? kExitNothingFound : kExitUninformative;
}

// --chain: the oracle alone. The worst code of all cases.
int ReplayChains(const Arguments& arguments) {
  for (const char* flag : {"target", "writer", "gather", "convert", "decode",
                           "backend", "flavour", "repeat", "json"}) {
    if (!arguments.Has(flag)) continue;
    return UsageError(
        absl::StrCat("replay: --chain runs no kernels; leave out "
                     "--",
                     flag));
  }
  const auto chain = ReadChain(arguments.Get("chain"));
  if (!chain.ok()) {
    return UsageError(absl::StrCat("replay: ", chain.status().message()));
  }
  const CaseArguments cases = ReadCaseArguments(arguments.positional());
  for (const std::string& error : cases.errors) UsageError(error);
  if (cases.cases.empty()) return kExitUsage;
  bool found = false, informative = false;
  for (const NamedCase& c : cases.cases) {
    const ChainAnswer answer = ReplayChain(*chain, c.message);
    std::printf("%s: %s\n", c.path.c_str(), answer.line.c_str());
    found |= answer.code == kExitFound;
    informative |= answer.code == kExitNothingFound;
  }
  if (!cases.errors.empty()) return kExitUsage;
  if (found) return kExitFound;
  return informative ? kExitNothingFound : kExitUninformative;
}

int Replay(const Arguments& arguments, const std::string&) {
  if (arguments.positional().empty()) {
    return UsageError("replay needs a case: mlafuzz replay CASE...");
  }
  if (arguments.Has("chain")) return ReplayChains(arguments);
  const auto setup = ReadSetup(arguments);
  if (!setup.ok()) {
    return UsageError(absl::StrCat("replay: ", setup.status().message()));
  }
  const CaseArguments cases = ReadCaseArguments(arguments.positional());
  for (const std::string& error : cases.errors) UsageError(error);
  if (cases.cases.empty()) return kExitUsage;
  CatchStopSignals();
  const auto runs = RunLayouts(arguments, *setup, cases, /*explain=*/false);
  if (!runs.ok()) return UsageError(runs.status());
  if (arguments.Has("json")) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < runs->size(); ++i) {
      const Judged& judged = (*runs)[i];
      all.push_back(ReplayJson(cases.cases[i].path, judged.run, judged.other));
    }
    // A target's own words may hold any bytes.
    std::printf("%s\n",
                all.dump(2, ' ', false,
                         nlohmann::ordered_json::error_handler_t::replace)
                    .c_str());
    return Judge(*runs, cases.errors.size());
  }
  for (std::size_t i = 0; i < runs->size(); ++i) {
    Print(cases.cases[i].path, (*runs)[i]);
  }
  return Judge(*runs, cases.errors.size());
}

int ExplainCase(const Arguments& arguments, const std::string&) {
  if (arguments.positional().size() != 1) {
    return UsageError("explain needs one case: mlafuzz explain CASE");
  }
  const auto setup = ReadSetup(arguments);
  if (!setup.ok()) {
    return UsageError(absl::StrCat("explain: ", setup.status().message()));
  }
  const CaseArguments cases = ReadCaseArguments(arguments.positional());
  for (const std::string& error : cases.errors) UsageError(error);
  if (cases.cases.empty()) return kExitUsage;
  CatchStopSignals();
  const auto runs = RunLayouts(arguments, *setup, cases, /*explain=*/true);
  if (!runs.ok()) return UsageError(runs.status());
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const CaseRun& run = (*runs)[i].run;
    std::printf("%s\n", FormatCaseText(cases.cases[i].message).c_str());
    if (run.failures().empty()) {
      Print(cases.cases[i].path, (*runs)[i]);
      continue;
    }
    const Failure& f = run.failures(0);
    std::printf("%s: step %u, %s %s in %s\n%s\n", cases.cases[i].path.c_str(),
                f.step(), f.kernel().c_str(), f.verdict().c_str(),
                f.property().c_str(), f.cause().c_str());
    if (!f.field().empty()) {
      std::printf("contract field: %s\n", f.field().c_str());
    }
    std::printf("%s\n", f.explanation().empty() ? f.detail().c_str()
                                                : f.explanation().c_str());
  }
  return Judge(*runs, cases.errors.size());
}

}  // namespace

Command ReplayCommand() {
  std::vector<Flag> flags = ReplayFlags();
  flags.push_back({"json", nullptr, "for programs"});
  return {"replay", "CASE...", "run stored cases, one line each",
          std::move(flags), Replay};
}

Command ExplainCommand() {
  return {"explain", "CASE",
          "the first wrong element: expected, got, bytes, scale, rule",
          ReplayFlags(), ExplainCase};
}

}  // namespace mlafuzz
