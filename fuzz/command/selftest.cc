// mlafuzz selftest: does the harness see what it must on this machine? One run
// of a few minutes, one JSON file to send to whoever asks.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/report.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/foreign.h"
#include "kernels/device/puzzles.h"
#include "kernels/target_set.h"
#include "nlohmann/json.hpp"
#include "oracle/verdict.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

// How one step went. Nothing that was skipped passes.
struct Outcome {
  std::string verdict = "pass";  // "pass", "fail", "skipped"
  std::string detail;
  Json figures = Json::object();

  static Outcome Fail(std::string detail) { return {"fail", detail, {}}; }
  static Outcome Skipped(std::string why) { return {"skipped", why, {}}; }
  static Outcome Of(const absl::Status& s) {
    return Fail(std::string(s.message()));
  }
};

class SelfTest {
 public:
  SelfTest(Engine engine, Targets targets, double seconds)
      : engine_(std::move(engine)),
        targets_(std::move(targets)),
        seconds_(seconds),
        cuda_(!targets_.device_name().empty()) {}

  void Step(const std::string& name, const std::function<Outcome()>& run) {
    if (StopSignals() != 0) return;
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    std::printf("%-8s %-44s %6.1f s  %s\n", outcome.verdict.c_str(),
                name.c_str(), seconds, outcome.detail.c_str());
    std::fflush(stdout);
    Json step;
    step["name"] = name;
    step["verdict"] = outcome.verdict;
    step["detail"] = outcome.detail;
    step["seconds"] = seconds;
    if (!outcome.figures.empty()) step["figures"] = outcome.figures;
    steps_.push_back(std::move(step));
    failed_ |= outcome.verdict == "fail";
    skipped_ += outcome.verdict == "skipped" ? 1 : 0;
  }

  // Every stored case under every relation that applies.
  Outcome Stored() {
    CaseArguments cases;
    const auto runs =
        RunStored("builtin", {"writer", "gather", "convert", "decode"}, &cases);
    if (!runs.ok()) return Outcome::Of(runs.status());
    int replays = 0;
    for (std::size_t i = 0; i < runs->size(); ++i) {
      const CaseRun& run = (*runs)[i];
      if (!run.error().empty()) {
        return Outcome::Fail(
            absl::StrCat(cases.cases[i].path, ": ", run.error()));
      }
      if (run.failures_size() != 0) {
        return Outcome::Fail(
            absl::StrCat(cases.cases[i].path, ": ", run.failures(0).cause()));
      }
      for (const CaseRun::Line& line : run.lines()) {
        if (line.property() != kGraphReplay) continue;
        if (line.verdict() != VerdictName(Verdict::kPass)) {
          return Outcome::Fail(
              absl::StrCat(cases.cases[i].path, ": ", line.detail()));
        }
        ++replays;
      }
    }
    Outcome outcome;
    outcome.detail = absl::StrCat(runs->size(), " cases");
    if (cuda_) {
      absl::StrAppend(&outcome.detail, ", ", replays, " calls from graphs");
      if (replays == 0) outcome.verdict = "fail";
    }
    return outcome;
  }

  // A library that is wrong in graphs alone.
  Outcome StaleGraph() {
    if (!cuda_) return Outcome::Skipped("of the CUDA backend");
    const std::string library = StaleGraphLibrary();
    if (library.empty()) return Outcome::Skipped("its library is not there");
    CaseArguments cases;
    const auto runs =
        RunStored(absl::StrCat("lib:", library), {"convert"}, &cases);
    if (!runs.ok()) return Outcome::Of(runs.status());
    int calls = 0;
    int seen = 0;
    for (std::size_t i = 0; i < runs->size(); ++i) {
      for (const CaseRun::Line& line : (*runs)[i].lines()) {
        const bool fails = line.verdict() == VerdictName(Verdict::kFail);
        if (line.property() == kGraphReplay) {
          ++calls;
          seen += fails;
        } else if (fails) {
          return Outcome::Fail(absl::StrCat(
              cases.cases[i].path, ": ", line.property(), ": ", line.detail()));
        }
      }
    }
    Outcome outcome;
    outcome.figures["calls"] = calls;
    outcome.figures["seen"] = seen;
    outcome.detail = absl::StrCat(seen, " of ", calls, " calls from graphs");
    if (seen == 0) outcome.verdict = "fail";
    return outcome;
  }

  // A right kernel, generated cases: nothing may be found.
  Outcome Right(const std::string& target, const std::string& kernel) {
    const auto result = Campaign(target, {kernel}, seconds_, false);
    if (!result.ok()) return Outcome::Of(result.status());
    Outcome outcome;
    outcome.figures["cases"] = result->totals.cases;
    outcome.figures["cases_per_second"] =
        static_cast<double>(result->totals.cases) / result->seconds;
    outcome.detail = absl::StrCat(result->totals.cases, " cases");
    if (ExitCode(*result) != kExitNothingFound) {
      outcome.verdict = "fail";
      outcome.detail = result->findings.empty()
                           ? "nothing was informative"
                           : result->findings.all()[0].failure.cause();
    }
    return outcome;
  }

  // A wrong one: the first finding must be the ledger's.
  Outcome Wrong(const TargetInfo& info) {
    const LedgerEntry* entry = FindInLedger(info.name);
    if (entry == nullptr) return Outcome::Fail("is not in the ledger");
    std::vector<std::string> kernels;
    for (const Kernel k : info.replaces) kernels.push_back(KernelName(k));
    // It ends with the first finding, whose cause may need some deaths more.
    const auto result =
        Campaign(info.name, kernels, std::max(seconds_, 30.0), true);
    if (!result.ok()) return Outcome::Of(result.status());
    if (result->findings.empty()) {
      return Outcome::Fail(
          absl::StrCat("not found in ", result->totals.cases, " cases"));
    }
    const Finding& first = result->findings.all()[0];
    Outcome outcome;
    outcome.figures["executions_to_find"] = first.executions_to_find;
    outcome.figures["field"] = first.failure.field();
    outcome.figures["cause"] = first.failure.cause();
    outcome.detail =
        absl::StrCat(first.executions_to_find, " calls, ",
                     first.failure.field().empty() ? first.failure.key()
                                                   : first.failure.field());
    bool kernel = false;
    for (const Kernel k : entry->kernels) {
      kernel |= first.failure.kernel() == KernelName(k);
    }
    if (!kernel) {
      outcome.verdict = "fail";
      absl::StrAppend(&outcome.detail, ": blames the ", first.failure.kernel());
    } else if (first.failure.field() != entry->field) {
      outcome.verdict = "fail";
      absl::StrAppend(&outcome.detail, " instead of ", entry->field);
    }
    return outcome;
  }

  // A race has no wrong result to be relied on: a tool must see it.
  Outcome Race() {
    if (!cuda_) return Outcome::Skipped("the host's race flavour has tests");
    const auto folder = StoredCases();
    if (!folder.ok()) return Outcome::Of(folder.status());
    WorkRequest request;
    request.set_mode(WorkRequest::RUN);
    *request.mutable_targets() = Named("mutant:missing-syncwarp");
    request.mutable_targets()->set_sanitizer("racecheck");
    int cases = 0;
    for (const NamedCase& c : ReadCaseArguments({*folder}).cases) {
      if (!absl::StrContains(c.path, "/gather-")) continue;
      request.add_cases(CanonicalBinary(c.message));
      ++cases;
    }
    const auto runs =
        RunInWorkers(engine_, std::move(request), {"gather"}, WatchdogLimits());
    if (!runs.ok()) return Outcome::Of(runs.status());
    int hit = 0;
    for (const CaseRun& run : *runs) {
      if (absl::StrContains(run.error(), "compute-sanitizer")) {
        return Outcome::Skipped(run.error());
      }
      bool race = false;
      for (const Failure& f : run.failures()) {
        race |= absl::StrContains(absl::StrCat(f.cause(), f.detail()), "Race");
      }
      hit += race;
    }
    Outcome outcome;
    outcome.figures["cases"] = cases;
    outcome.figures["with_race"] = hit;
    outcome.detail = absl::StrCat("racecheck: ", hit, " of ", cases, " cases");
    if (hit == 0) outcome.verdict = "fail";
    return outcome;
  }

  // A call that finds no device memory is skipped with a reason; the next one
  // runs.
  Outcome ShortOfMemory() {
    if (!cuda_) return Outcome::Skipped("of the CUDA backend");
    constexpr char kMost[] = "MLAFUZZ_DEVICE_MEMORY_MIB";
    WorkRequest request;
    request.set_mode(WorkRequest::RUN);
    request.set_alone(true);
    *request.mutable_targets() = Named("builtin");
    for (const char* pages : {"1000", "2"}) {
      const auto c = ParseCaseText(
          absl::StrCat("pool { page_size: 64 pages: ", pages,
                       " } steps { write { slots { values: 1 } "
                       "pe_dim: 64 kv_c { pattern: NORMAL_RANGE seed: 1 } "
                       "k_pe { pattern: NORMAL_RANGE seed: 2 } } }"));
      if (!c.ok()) return Outcome::Of(c.status());
      request.add_cases(CanonicalBinary(*c));
    }
    setenv(kMost, "30", /*overwrite=*/1);
    const auto runs =
        RunInWorkers(engine_, std::move(request), {"writer"}, WatchdogLimits());
    unsetenv(kMost);
    if (!runs.ok()) return Outcome::Of(runs.status());
    const auto verdict = [](const CaseRun& run) {
      return run.lines().empty() ? run.error() : run.lines(0).verdict();
    };
    const CaseRun& large = (*runs)[0];
    Outcome outcome;
    outcome.detail =
        large.lines().empty() ? large.error() : large.lines(0).detail();
    if (verdict(large) != VerdictName(Verdict::kSkipped) ||
        !absl::StrContains(outcome.detail, "device memory") ||
        verdict((*runs)[1]) != VerdictName(Verdict::kPass)) {
      outcome.verdict = "fail";
      absl::StrAppend(&outcome.detail, "; ", verdict(large), ", ",
                      verdict((*runs)[1]));
    }
    return outcome;
  }

  // Faults planted in device code.
  Outcome Faults() {
    if (!cuda_) return Outcome::Skipped("of the CUDA backend");
    const std::string library = FaultLibrary();
    if (library.empty()) return Outcome::Skipped("faults.so is not there");
    Backend backend = {.cuda = true};
    backend.device = static_cast<int>(targets_.device());
    int right = 0;
    Json wrong = Json::array();
    const std::vector<Puzzle> puzzles = Puzzles();
    const absl::Status ran =
        RunPuzzles(library, backend, puzzles, [&](const PuzzleResult& result) {
          if (result.right()) {
            ++right;
          } else {
            wrong.push_back(
                absl::StrCat(result.puzzle.kernel, ": ", result.puzzle.fault,
                             ", unmapped ", result.puzzle.guard, ": expected ",
                             result.puzzle.expected, ", saw ", result.seen));
          }
        });
    if (!ran.ok()) return Outcome::Of(ran);
    if (const std::string why = RunBatchPuzzle(library, backend);
        !why.empty()) {
      wrong.push_back(why);
    }
    Outcome outcome;
    outcome.detail =
        absl::StrCat(right, " of ", puzzles.size(), " seen for what they are");
    if (!wrong.empty()) {
      outcome.verdict = "fail";
      absl::StrAppend(&outcome.detail, "; ", wrong[0].get<std::string>());
      outcome.figures["wrong"] = wrong;
    }
    return outcome;
  }

  Outcome Accuracy() {
    WorkRequest request;
    AbRequest& ab = *request.mutable_ab();
    ab.set_rows(2048);
    ab.set_heads(8);
    ab.set_top_k(512);
    ab.set_seed(1);
    ab.add_spreads(4.7);
    const char* const decodes[] = {"builtin:e4m3-two-pass",
                                   "builtin:e4m3-two-pass-qk-pow2"};
    for (const char* decode : decodes) {
      ab.add_decodes(Named(decode).all());
    }
    const auto result = AbInWorker(engine_, request);
    if (!result.ok()) return Outcome::Of(result.status());
    const auto& figures = result->spreads(0).decodes();
    for (const auto& decode : figures) {
      if (!decode.error().empty()) return Outcome::Fail(decode.error());
    }
    Outcome outcome;
    const double ratio = figures[1].relative_l2() / figures[0].relative_l2();
    outcome.figures["relative_l2"] = figures[0].relative_l2();
    outcome.figures["relative_l2_qk_pow2"] = figures[1].relative_l2();
    outcome.figures["ratio"] = ratio;
    outcome.detail =
        absl::StrCat("scales by exponent alone: error times ", ratio);
    if (!(ratio > 1)) outcome.verdict = "fail";
    return outcome;
  }

  Outcome Rates() {
    if (!cuda_) return Outcome::Skipped("`mlafuzz bench` has the host's");
    WorkRequest request;
    *request.mutable_targets() = Named("builtin");
    request.set_seconds(0.5);
    const auto result = BenchInWorker(engine_, request);
    if (!result.ok()) return Outcome::Of(result.status());
    Outcome outcome;
    for (const BenchResult::Timing& timing : result->timings()) {
      outcome.figures[timing.name()] = timing.per_second();
      if (timing.name() == "writer/batch 256/stage+kernel+judge") {
        outcome.detail =
            absl::StrCat(static_cast<std::int64_t>(timing.per_second()),
                         " one-token writes a second with judge");
      }
    }
    return outcome;
  }

  bool failed() const { return failed_; }
  int skipped() const { return skipped_; }
  Json ToJson() const {
    const BuildInfo build = ReadBuildInfo(engine_);
    Json json;
    json["schema_version"] = 1;
    json["backend"] = cuda_ ? "cuda" : "host";
    json["tier"] = TierText(targets_);
    json["compiler"] = build.compiler;
    json["verdict"] = failed_ ? "fail" : "pass";
    json["skipped"] = skipped_;
    json["steps"] = steps_;
    return json;
  }

 private:
  static constexpr char kGraphReplay[] = "graph-replay";

  // The stored cases on one target, every relation.
  absl::StatusOr<std::vector<CaseRun>> RunStored(
      const std::string& target, const std::vector<std::string>& kernels,
      CaseArguments* cases) {
    const auto folder = StoredCases();
    if (!folder.ok()) return folder.status();
    *cases = ReadCaseArguments({*folder});
    if (!cases->errors.empty()) {
      return absl::InvalidArgumentError(cases->errors[0]);
    }
    WorkRequest request;
    request.set_mode(WorkRequest::RUN);
    *request.mutable_targets() = Named(target);
    for (const NamedCase& c : cases->cases) {
      request.add_cases(CanonicalBinary(c.message));
    }
    return RunInWorkers(engine_, std::move(request), kernels, WatchdogLimits());
  }

  Targets Named(const std::string& name) const {
    Targets targets = targets_;
    targets.set_all(cuda_ ? absl::StrCat(kOnDevice, name) : name);
    return targets;
  }

  absl::StatusOr<CampaignResult> Campaign(
      const std::string& target, const std::vector<std::string>& kernels,
      double seconds, bool stop_on_first) {
    const auto out = ScratchFolder::Create();
    if (!out.ok()) return out.status();
    CampaignOptions options;
    options.engine = engine_;
    options.targets = Named(target);
    options.kernels = kernels;
    options.seed = 1;
    options.seconds = seconds;
    options.stop_on_first = stop_on_first;
    options.out = out->path();
    options.quiet = true;
    options.follow_up = false;
    return RunCampaign(options);
  }

  Engine engine_;
  Targets targets_;
  double seconds_;
  bool cuda_;
  Json steps_ = Json::array();
  bool failed_ = false;
  int skipped_ = 0;
};

int Run(const Arguments& arguments, const std::string&) {
  const auto fail = [](const absl::Status& s) {
    return UsageError(absl::StrCat("selftest: ", s.message()));
  };
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return fail(targets.status());
  double seconds = 20;
  if (arguments.Has("time")) {
    const auto given = ParseDuration(arguments.Get("time"));
    if (!given.ok()) return fail(given.status());
    seconds = *given;
  }
  const auto engine =
      FindEngine(arguments.Has("flavour") ? arguments.Get("flavour") : "plain");
  if (!engine.ok()) return fail(engine.status());
  CatchStopSignals();
  std::printf("mlafuzz selftest, tier %s\n", TierText(*targets).c_str());
  SelfTest test(*engine, *targets, seconds);
  test.Step("stored cases", [&] { return test.Stored(); });
  for (const char* kernel : {"writer", "gather", "convert", "decode"}) {
    test.Step(absl::StrCat("builtin ", kernel),
              [&] { return test.Right("builtin", kernel); });
  }
  test.Step("control:thread-mapping",
            [&] { return test.Right("control:thread-mapping", "writer"); });
  for (const TargetInfo& info : AllTargets()) {
    const LedgerEntry* entry = FindInLedger(info.name);
    if (entry == nullptr || !entry->core) continue;
    // A race shows under a tool, or on the host in a flavour of its own.
    test.Step(info.name, [&] {
      return info.name == "mutant:missing-syncwarp" ? test.Race()
                                                    : test.Wrong(info);
    });
  }
  test.Step("a library that is wrong in graphs",
            [&] { return test.StaleGraph(); });
  test.Step("short of device memory", [&] { return test.ShortOfMemory(); });
  test.Step("faults on the device", [&] { return test.Faults(); });
  test.Step("ab", [&] { return test.Accuracy(); });
  test.Step("rates", [&] { return test.Rates(); });
  const Json json = test.ToJson();
  const std::string path = CallersPath(
      arguments.Has("json") ? arguments.Get("json") : "mlafuzz-selftest.json");
  if (absl::Status s = WriteFileAtomically(path, json.dump(2) + "\n");
      !s.ok()) {
    return fail(s);
  }
  std::printf("%s, %d steps skipped; %s\n", test.failed() ? "FAILED" : "passed",
              test.skipped(), ShownPath(path).c_str());
  return test.failed() ? kExitFound : kExitNothingFound;
}

}  // namespace

Command SelftestCommand() {
  return {
      "selftest",
      "",
      "whether the harness sees what it must on this machine",
      {{"backend", "host|cuda|auto", "where the kernels run (default host)"},
       {"device", "N", "the GPU of --backend=cuda (default 0)"},
       {"flavour", "asan+ubsan|plain|race", "build of the kernels"},
       {"time", "20s", "for each campaign (default 20s)"},
       {"json", "FILE", "the result (default mlafuzz-selftest.json)"}},
      Run};
}

}  // namespace mlafuzz
