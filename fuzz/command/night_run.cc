#include "fuzz/command/night_run.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/outcome.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/case_arguments.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/step_summary_file.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/nightly/news.h"
#include "fuzz/nightly/night_sarif.h"
#include "fuzz/state/records.h"

namespace mlafuzz {
namespace {

absl::StatusOr<std::vector<NamedCase>> ReadRegressions(
    const NightConfig& config) {
  std::vector<std::string> paths;
  for (const std::string& path : config.regressions()) {
    // Nothing has ever failed yet.
    std::error_code ignored;
    const std::string at = CallersPath(path);
    if (std::filesystem::is_directory(at, ignored) &&
        std::filesystem::is_empty(at, ignored)) {
      continue;
    }
    paths.push_back(path);  // read as the caller meant it
  }
  CaseArguments stored = ReadCaseArguments(paths);
  if (!stored.errors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("regressions: ", stored.errors[0]));
  }
  return std::move(stored.cases);
}

// Of `mlafuzz ledger`.
std::vector<std::string> GateFlags(const LedgerGate& gate) {
  std::vector<std::string> flags = {
      absl::StrCat("--seeds=", std::max<std::uint64_t>(1, gate.seeds())),
      "--engines=libfuzzer"};
  flags.push_back(
      gate.targets().empty()
          ? "--core"
          : absl::StrCat("--target=", absl::StrJoin(gate.targets(), ",")));
  if (gate.control_cases() > 0) {
    flags.push_back(absl::StrCat("--control-cases=", gate.control_cases()));
  }
  return flags;
}

class NightRun {
 public:
  NightRun(NightConfig config, std::vector<Ready> work, State state,
           Night night)
      : config_(std::move(config)),
        work_(std::move(work)),
        state_(std::move(state)),
        night_(std::move(night)) {
    result_.night = night_.number();
  }

  absl::StatusOr<int> Run() {
    result_.since = LastNight(state_.path());
    auto known = KnownCausesOf(state_.path(), result_.since);
    if (!known.ok()) return known.status();
    known_ = *std::move(known);
    for (const auto phase :
         {&NightRun::Replay, &NightRun::Fuzz, &NightRun::Gate,
          &NightRun::Minimise, &NightRun::Report, &NightRun::Prune}) {
      if (absl::Status s = (this->*phase)(); !s.ok()) return s;
      if (StopSignals() > 0) return absl::CancelledError("stopped by a signal");
    }
    return result_.exit_code;
  }

 private:
  static void Say(const char* phase, const std::string& what) {
    std::printf("%s: %s\n", phase, what.c_str());
    std::fflush(stdout);
  }

  // Another command of this program, as it would be typed.
  static int RunAs(const char* phase, const std::vector<std::string>& words) {
    std::string line = "mlafuzz";
    for (const std::string& word : words) {
      absl::StrAppend(&line, " ", ShellWord(word));
    }
    Say(phase, line);
    return RunCommandLine(words);
  }

  static absl::StatusOr<std::vector<CaseRun>> RunCases(
      const Ready& work, const std::vector<std::string>& cases) {
    WorkRequest request;
    request.set_mode(WorkRequest::RUN);
    *request.mutable_targets() = work.targets;
    request.mutable_cases()->Assign(cases.begin(), cases.end());
    return RunInWorkers(work.engine, std::move(request), work.kernels,
                        WatchdogLimits());
  }

  // Cases that once failed, on all work, and the known causes on theirs.
  absl::Status Replay() {
    const auto stored = ReadRegressions(config_);
    if (!stored.ok()) return stored.status();
    auto causes = CausesOf(state_, known_, night_.number());
    if (!causes.ok()) return causes.status();
    for (const Ready& work : work_) {
      std::vector<std::string> cases;
      for (const NamedCase& c : *stored) {
        cases.push_back(CanonicalBinary(c.message));
      }
      std::vector<const Cause*> replayed;  // of each further case
      std::size_t known_here = 0;
      for (const auto& [name, cause] : *causes) {
        if (name.first != work.name() || known_.count(name) == 0) continue;
        ++known_here;
        replayed.push_back(&cause);
        cases.push_back(cause.case_binary);
        for (const std::string& binary : cause.more_cases) {
          replayed.push_back(&cause);
          cases.push_back(binary);
        }
      }
      Say("replay",
          absl::StrCat(work.name(), ": ", stored->size(), " regressions, ",
                       known_here, " known causes"));
      if (cases.empty()) continue;
      const auto runs = RunCases(work, cases);
      if (!runs.ok()) return runs.status();
      result_.regressions += stored->size();
      for (std::size_t i = 0; i < runs->size(); ++i) {
        const CaseRun& run = (*runs)[i];
        if (i >= stored->size()) {
          Judge(*replayed[i - stored->size()], run);
        } else if (!run.failures().empty() || !run.error().empty()) {
          result_.failed_regressions.push_back(
              absl::StrCat(work.name(), ": ", (*stored)[i].path));
        } else if (!Judged(run, work.kernels)) {
          ++result_.unjudged_regressions;
        }
      }
    }
    return absl::OkStatus();
  }

  void Judge(const Cause& cause, const CaseRun& run) {
    const std::string replay =
        ReplayText(OutcomeOf(run, cause.sample.key(), cause.sample.kernel()));
    const auto [it, first] = replays_.emplace(NameOf(cause.sample), replay);
    // Of several cases and flavours what says most.
    if (!first) it->second = WorseReplay(it->second, replay);
  }

  absl::Status Fuzz() {
    // What shards of a fleet have done is not done again; what is damaged in
    // them is.
    const auto shards = state_.Shards();
    if (!shards.ok()) return shards.status();
    if (!shards->empty()) {
      RunAs("fuzz", {"merge", absl::StrCat("--state=", state_.path())});
    }
    for (const Ready& work : work_) {
      const std::vector<std::string> words =
          UnitWords(state_, work, night_.number(), Shard());
      if (RunAs("fuzz", words) == kExitUsage) {
        return absl::UnavailableError("the units above did not all run");
      }
    }
    if (RunAs("fuzz", {"merge", absl::StrCat("--state=", state_.path())}) !=
        kExitNothingFound) {
      return absl::UnavailableError("the merge above failed");
    }
    return Count();
  }

  // What tonight's units did, whoever ran them.
  absl::Status Count() {
    const auto epoch = NewestEpoch(state_);
    if (!epoch.ok()) return epoch.status();
    result_.epoch = epoch->has_value() ? (*epoch)->epoch.number() : 0;
    const auto units = ReadUnits(state_);
    if (!units.ok()) return units.status();
    for (const Ready& work : work_) {
      NightResult::Done done;
      done.targets = work.name();
      for (const auto& [key, unit] : units->done) {
        const std::uint64_t seed = unit.key().seed();
        if (unit.key().targets() != work.name() ||
            seed < FirstSeed(night_.number()) ||
            seed >= FirstSeed(night_.number()) + work.work.units()) {
          continue;
        }
        ++done.units;
        for (const std::string& id : unit.findings()) {
          const auto found = ReadFoundCase(state_, id);
          if (!found.ok()) return found.status();
          tonight_.insert(NameOf(*found));
        }
        done.cases += unit.cases();
        done.informative += unit.informative();
      }
      result_.work.push_back(std::move(done));
    }
    return absl::OkStatus();
  }

  absl::Status Gate() {
    if (!config_.has_ledger_gate()) return absl::OkStatus();
    std::vector<std::string> words = GateFlags(config_.ledger_gate());
    words.insert(words.begin(), "ledger");
    const int code = RunAs("ledger gate", words);
    if (code == kExitUsage) {
      return absl::UnavailableError("the ledger above did not run");
    }
    result_.gate = code == kExitNothingFound ? "passed" : "failed";
    return absl::OkStatus();
  }

  // What is new: the smallest case of the night, made smaller.
  absl::Status Minimise() {
    auto causes = CausesOf(state_, known_, night_.number());
    if (!causes.ok()) return causes.status();
    causes_ = *std::move(causes);
    for (auto& [name, cause] : causes_) {
      if (const auto it = replays_.find(name); it != replays_.end()) {
        cause.replay = it->second;
      }
      cause.found_tonight = tonight_.count(name) != 0;
      if (known_.count(name) != 0) continue;
      const auto work =
          std::find_if(work_.begin(), work_.end(), [&](const Ready& w) {
            return w.name() == cause.sample.targets() &&
                   w.engine.flavour == cause.sample.flavour();
          });
      if (work == work_.end()) {
        cause.note = "its target and flavour are no work of this config";
        continue;
      }
      Say("minimise",
          absl::StrCat(CauseId(cause.sample), ", ", cause.sample.targets()));
      if (absl::Status s = MinimiseOne(*work, cause); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status MinimiseOne(const Ready& work, Cause& cause) {
    const std::string folder =
        absl::StrCat(night_.folder(), "/findings/", CauseId(cause.sample));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat(folder, ": ", error.message()));
    }
    const auto write = [&](const char* name, const std::string& binary) {
      const auto c = ParseCaseBinary(binary);
      if (!c.ok()) return c.status();
      return WriteFileAtomically(absl::StrCat(folder, "/", name),
                                 FormatCaseText(*c));
    };
    if (absl::Status s = write("original.txtpb", cause.case_binary); !s.ok()) {
      return s;
    }
    WorkRequest request;
    *request.mutable_targets() = work.targets;
    request.add_cases(cause.case_binary);
    request.set_cause(cause.sample.key());
    request.set_seconds(kMinimiseSeconds);
    const auto result =
        MinimizeInWorker(work.engine, std::move(request), WatchdogLimits());
    if (StopSignals() > 0) return absl::CancelledError("stopped by a signal");
    if (!result.ok() || !result->error().empty() || !result->reproduced()) {
      cause.note = !result.ok() ? std::string(result.status().message())
                   : !result->error().empty()
                       ? result->error()
                       : "it does not fail the same way twice";
      return absl::OkStatus();
    }
    if (absl::Status s = write("case.txtpb", result->case_binary()); !s.ok()) {
      return s;
    }
    cause.minimal_file =
        absl::StrCat("findings/", CauseId(cause.sample), "/case.txtpb");
    return absl::OkStatus();
  }

  void DecideRed() {
    const auto red = [&](Red what, bool is, const std::string& why) {
      if (is && IsRed(config_, what)) result_.red.push_back(why);
    };
    std::map<News, std::size_t> causes;
    for (const auto& [name, cause] : causes_) {
      ++causes[NewsOf(name, cause, known_)];
    }
    red(NEW_CAUSE, causes[News::kNew] > 0,
        absl::StrCat("new causes: ", causes[News::kNew]));
    red(NEW_CAUSE, causes[News::kBack] > 0,
        absl::StrCat("causes that are back: ", causes[News::kBack]));
    red(STILL_FAILS, causes[News::kStill] > 0,
        absl::StrCat("causes that still fail: ", causes[News::kStill]));
    red(REGRESSION, !result_.failed_regressions.empty(),
        absl::StrCat(result_.failed_regressions.size(), " regressions failed"));
    red(GATE, result_.gate == "failed", "the ledger gate failed");
    const bool found = !result_.red.empty();
    bool uninformative = false;
    for (const NightResult::Done& done : result_.work) {
      const bool none = done.informative == 0;
      uninformative |= none;
      red(UNINFORMATIVE, none,
          absl::StrCat(done.targets, ": nothing was informative"));
    }
    if (found) {
      result_.exit_code = kExitFound;
    } else if (uninformative && IsRed(config_, UNINFORMATIVE)) {
      result_.exit_code = kExitUninformative;
    }
  }

  // report.json comes last: where it is the night is over.
  absl::Status Report() {
    DecideRed();
    const std::string text = NightText(result_, causes_, known_);
    if (absl::Status s =
            WriteFileAtomically(night_.folder() + "/report.txt", text);
        !s.ok()) {
      return s;
    }
    const nlohmann::ordered_json json = NightJson(result_, causes_, known_);
    // Causes may quote a target's own message: never fail on its bytes.
    const auto dump = [](const nlohmann::ordered_json& of) {
      return of.dump(2, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace) +
             "\n";
    };
    for (const auto& [name, bytes] :
         {std::pair("/report.sarif", dump(NightSarif(json))),
          std::pair("/report.json", dump(json))}) {
      if (absl::Status s = WriteFileAtomically(night_.folder() + name, bytes);
          !s.ok()) {
        return s;
      }
    }
    AppendStepSummary(absl::StrCat("## mlafuzz night\n\n<pre>\n",
                                   MarkupText(text), "</pre>\n"));
    std::printf("%sreport: %s/report.txt\n", text.c_str(),
                ShownPath(night_.folder()).c_str());
    std::fflush(stdout);
    return absl::OkStatus();
  }

  absl::Status Prune() {
    const auto cases = state_.List(Kind::kCase);
    if (!cases.ok()) return cases.status();
    if (config_.prune_above() == 0 || cases->size() <= config_.prune_above()) {
      return absl::OkStatus();
    }
    return RunAs("prune", {"corpus", "prune",
                           absl::StrCat("--state=", state_.path())}) ==
                   kExitNothingFound
               ? absl::OkStatus()
               : absl::UnavailableError("the state could not be pruned");
  }

  static constexpr double kMinimiseSeconds = 20;  // a cause

  NightConfig config_;
  std::vector<Ready> work_;
  State state_;
  Night night_;
  NightResult result_;
  KnownBefore known_;
  std::map<CauseName, std::string> replays_;
  std::set<CauseName> tonight_;
  Causes causes_;
};

}  // namespace

absl::StatusOr<Ready> MakeReady(const Work& work) {
  Ready ready;
  ready.work = work;
  ready.flags = WorkFlags(work);
  const auto arguments =
      Arguments::Parse(ready.flags, WithTargetFlags({{"kernels", "", ""}}));
  if (!arguments.ok()) return arguments.status();
  auto targets = ReadTargets(*arguments);
  if (!targets.ok()) return targets.status();
  ready.targets = *std::move(targets);
  auto kernels = ReadKernels(*arguments, ready.targets);
  if (!kernels.ok()) return kernels.status();
  ready.kernels = *std::move(kernels);
  auto engine = FindEngine(arguments->Get("flavour"));
  if (!engine.ok()) return engine.status();
  ready.engine = *std::move(engine);
  return ready;
}

absl::Status CheckGate(const NightConfig& config) {
  if (!config.has_ledger_gate()) return absl::OkStatus();
  const absl::Status s = CheckLedgerWords(GateFlags(config.ledger_gate()));
  return s.ok() ? s
                : absl::Status(s.code(),
                               absl::StrCat("ledger_gate: ", s.message()));
}

absl::Status CheckRegressions(const NightConfig& config) {
  return ReadRegressions(config).status();
}

std::vector<std::string> UnitWords(const State& state, const Ready& work,
                                   std::uint64_t night, const Shard& shard) {
  std::vector<std::string> words = {"unit",
                                    absl::StrCat("--state=", state.path()),
                                    absl::StrCat("--units=", work.work.units()),
                                    absl::StrCat("--cases=", work.work.cases()),
                                    absl::StrCat("--seed=", FirstSeed(night)),
                                    absl::StrCat("--shard=", shard.index),
                                    absl::StrCat("--shards=", shard.count)};
  words.insert(words.end(), work.flags.begin(), work.flags.end());
  return words;
}

absl::StatusOr<int> RunNight(const NightConfig& config,
                             const std::vector<Ready>& work, const State& state,
                             Night night) {
  return NightRun(config, work, state, std::move(night)).Run();
}

}  // namespace mlafuzz
