// mlafuzz ledger: every wrong kernel under every engine, every right one beside
// them, and other people's tests on both.

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/ledger/html.h"
#include "fuzz/ledger/json.h"
#include "fuzz/ledger/recorded.h"
#include "fuzz/ledger/run.h"
#include "fuzz/ledger/summary.h"
#include "fuzz/ledger/text.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

// A comma-separated list without repetitions; InvalidArgument for an empty
// name.
absl::StatusOr<std::vector<std::string>> List(const Arguments& arguments,
                                              const char* flag) {
  std::vector<std::string> all;
  const std::string text = arguments.Get(flag);
  for (const std::string& name :
       std::vector<std::string>(absl::StrSplit(text, ','))) {
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " has an empty name: \"", text, "\""));
    }
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      all.push_back(name);
    }
  }
  return all;
}

absl::Status ReadEngines(const Arguments& arguments, LedgerOptions& options) {
  if (!arguments.Has("engines")) return absl::OkStatus();
  auto engines = List(arguments, "engines");
  if (!engines.ok()) return engines.status();
  for (const std::string& engine : *engines) {
    if (const auto m = MutatorOf(engine); !m.ok()) return m.status();
  }
  options.engines = *std::move(engines);
  return absl::OkStatus();
}

absl::Status ReadTargetNames(const Arguments& arguments,
                             LedgerOptions& options) {
  if (!arguments.Has("target")) return absl::OkStatus();
  auto targets = List(arguments, "target");
  if (!targets.ok()) return targets.status();
  for (const std::string& name : *targets) {
    const bool known =
        std::any_of(AllTargets().begin(), AllTargets().end(),
                    [&](const TargetInfo& info) { return info.name == name; });
    if (known) continue;
    // Names the nearest.
    const auto set = MakeTargetSet(name);
    return set.ok() ? absl::InvalidArgumentError(absl::StrCat(
                          name,
                          " is not compiled in; `mlafuzz targets` lists "
                          "what is"))
                    : set.status();
  }
  options.targets = *std::move(targets);
  return absl::OkStatus();
}

absl::Status ReadNumber(const Arguments& arguments, const char* flag,
                        std::uint64_t least, std::uint64_t most,
                        std::uint64_t* number) {
  const auto given = arguments.Number(flag, *number);
  if (!given.ok()) return given.status();
  if (*given < least || *given > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, " needs ", least, " to ", most, ", got ", *given));
  }
  *number = *given;
  return absl::OkStatus();
}

absl::Status Read(const Arguments& arguments, LedgerOptions& options) {
  if (!arguments.positional().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "takes no argument, got \"", arguments.positional()[0], "\""));
  }
  std::uint64_t jobs = std::max(1u, std::thread::hardware_concurrency());
  for (const absl::Status& s :
       {ReadNumber(arguments, "seeds", 1, 10000, &options.seeds),
        ReadNumber(arguments, "inputs", 1, 1000000000, &options.measure.inputs),
        ReadNumber(arguments, "control-cases", 1, 1000000000,
                   &options.measure.control_cases),
        ReadNumber(arguments, "jobs", 1, 1024, &jobs),
        ReadEngines(arguments, options), ReadTargetNames(arguments, options)}) {
    if (!s.ok()) return s;
  }
  options.jobs = static_cast<int>(jobs);
  const auto budget =
      arguments.Seconds("budget-cpu-s", options.measure.budget_cpu_seconds);
  if (!budget.ok()) return budget.status();
  options.measure.budget_cpu_seconds = *budget;
  options.groups = arguments.Has("groups");
  options.core_only = arguments.Has("core");
  if (arguments.Has("baselines")) {
    const auto program = BaselineProgram();
    if (!program.ok()) return program.status();
    options.run_baseline = *program;
    options.baseline_seeds = options.seeds;
    if (absl::Status s = ReadNumber(arguments, "baseline-seeds", 1,
                                    options.seeds, &options.baseline_seeds);
        !s.ok()) {
      return s;
    }
  } else if (arguments.Has("baseline-seeds")) {
    return absl::InvalidArgumentError(
        "--baseline-seeds says how often --baselines run; it needs that flag");
  }
  const auto engine =
      FindEngine(arguments.Has("flavour") ? arguments.Get("flavour") : "plain");
  if (!engine.ok()) return engine.status();
  options.measure.engine = *engine;
  return absl::OkStatus();
}

// Writes what was asked for; all or nothing of each file.
absl::Status Write(const Arguments& arguments, const std::string& typed,
                   const LedgerResult& result) {
  const auto write = [&](const char* flag, const auto& text) {
    if (!arguments.Has(flag)) return absl::OkStatus();
    return WriteFileAtomically(CallersPath(arguments.Get(flag)), text());
  };
  if (absl::Status s =
          write("json", [&] { return LedgerJson(result).dump(2) + "\n"; });
      !s.ok()) {
    return s;
  }
  if (absl::Status s = write("html", [&] { return LedgerHtml(result); });
      !s.ok()) {
    return s;
  }
  // Half a record would pass for a whole one.
  if (result.interrupted) return absl::OkStatus();
  return write("record", [&] { return FormatRecorded(Record(result), typed); });
}

int Run(const Arguments& arguments, const std::string& typed) {
  const auto fail = [](const absl::Status& s) {
    return UsageError(absl::StrCat("ledger: ", s.message()));
  };
  LedgerOptions options;
  options.measure.budget_cpu_seconds = 20;
  if (absl::Status s = Read(arguments, options); !s.ok()) return fail(s);
  CatchStopSignals();
  const auto result = RunLedger(options, [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
  });
  if (!result.ok()) return fail(result.status());
  std::fputs(LedgerText(*result).c_str(), stdout);
  if (absl::Status s = Write(arguments, typed, *result); !s.ok()) {
    return fail(s);
  }
  return LedgerExitCode(*result);
}

}  // namespace

absl::Status CheckLedgerWords(const std::vector<std::string>& words) {
  const auto arguments = Arguments::Parse(words, LedgerCommand().flags);
  if (!arguments.ok()) return arguments.status();
  LedgerOptions unused;
  return Read(*arguments, unused);
}

Command LedgerCommand() {
  return {"ledger",
          "",
          "every wrong kernel, every engine, every right kernel: who is found",
          {{"seeds", "N", "campaigns for each of them (default 2)"},
           {"engines", "libfuzzer,rapidcheck,bytes",
            "who makes the cases (default libfuzzer,rapidcheck)"},
           {"target", "NAME,NAME", "only these, wrong or right (default: all)"},
           {"inputs", "N", "a campaign's budget (default 20000)"},
           {"budget-cpu-s", "S", "a campaign's CPU time (default 20)"},
           {"control-cases", "N",
            "for each kernel of a right target (default 2000)"},
           {"groups", nullptr,
            "also count what a campaign that goes on takes one fault for"},
           {"baselines", nullptr, "other people's tests beside them"},
           {"baseline-seeds", "N", "runs of each (default: --seeds)"},
           {"core", nullptr, "of the wrong kernels only the selftest's"},
           {"json", "FILE", "the result, for programs"},
           {"html", "FILE", "the result as a page with a kill matrix"},
           {"record", "FILE",
            "calls to kill, for the gate (properties/ledger/recorded.json)"},
           {"jobs", "N", "campaigns at a time (default: one a processor)"},
           {"flavour", "plain|asan+ubsan|race",
            "build of the kernels (default plain)"}},
          Run};
}

}  // namespace mlafuzz
