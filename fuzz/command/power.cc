// mlafuzz power

#include <algorithm>
#include <cstdio>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "kernels/target_set.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

// One twin under one mutator over all seeds.
struct Series {
  std::vector<std::uint64_t> executions;  // of the seeds that found it
  int runs = 0;
  int right = 0;     // by a kernel and property of the ledger
  int field = 0;     // and settled on its contract field, or its fault's name
  std::string what;  // of the last finding
};

// Nearest-rank percentile; seeds that found nothing count as above all.
std::string Percentile(const Series& series, double share) {
  const auto rank =
      static_cast<std::size_t>(std::max(1.0, share * series.runs + 0.999999));
  if (rank > series.executions.size()) return "not found";
  std::vector<std::uint64_t> sorted = series.executions;
  std::sort(sorted.begin(), sorted.end());
  return absl::StrCat(sorted[rank - 1]);
}

// Kernel and property as the ledger says.
bool IsRight(const LedgerEntry& entry, const Failure& f) {
  bool kernel = false;
  for (const Kernel k : entry.kernels) kernel |= f.kernel() == KernelName(k);
  return kernel && std::find(entry.properties.begin(), entry.properties.end(),
                             f.property()) != entry.properties.end();
}

// Nothing less than the ledger's one name, nothing beside it.
bool IsNamed(const LedgerEntry& entry, const Failure& f) {
  return f.field() == entry.field &&
         absl::StrContains(f.key(), absl::StrCat("/", entry.key)) &&
         (entry.key.empty() || f.also().empty());
}

struct Settings {
  Engine engine;
  std::uint64_t seeds = 20;
  std::uint64_t inputs = 100000;
  std::vector<std::string> corpora;
  bool each = false;
};

absl::StatusOr<Series> Measure(const Settings& settings, const TargetInfo& info,
                               WorkRequest::Mutator mutator) {
  Series series;
  for (std::uint64_t seed = 1; seed <= settings.seeds; ++seed) {
    auto out = ScratchFolder::Create();
    if (!out.ok()) return out.status();
    CampaignOptions options;
    options.engine = settings.engine;
    options.targets.set_all(info.name);
    for (const Kernel k : info.replaces) {
      options.kernels.push_back(KernelName(k));
    }
    options.mutator = mutator;
    options.seed = seed;
    options.inputs = settings.inputs;
    options.stop_on_first = true;
    options.corpora = settings.corpora;
    options.out = out->path();
    options.quiet = true;
    options.follow_up = false;
    const auto result = RunCampaign(options);
    if (!result.ok()) return result.status();
    // A campaign that was cut off is none that found nothing.
    if (result->interrupted) {
      return absl::CancelledError(
          "stopped by a signal; the lines above are whole");
    }
    ++series.runs;
    if (result->findings.empty()) continue;
    const Finding& first = result->findings.all()[0];
    series.executions.push_back(first.executions_to_find);
    if (const LedgerEntry* entry = FindInLedger(info.name);
        entry != nullptr && IsRight(*entry, first.failure)) {
      ++series.right;
      series.field += IsNamed(*entry, first.failure);
    }
    if (settings.each) {
      std::fprintf(stderr,
                   "%s, seed %d: %s, %s after %d calls; %d further cases, %d "
                   "alike%s%s\n",
                   info.name.c_str(), static_cast<int>(seed),
                   first.failure.key().c_str(),
                   first.failure.property().c_str(),
                   static_cast<int>(first.executions_to_find),
                   static_cast<int>(first.heard), static_cast<int>(first.alike),
                   first.failure.also().empty() ? "" : "; or ",
                   absl::StrJoin(first.failure.also(), ", ").c_str());
    }
    series.what = absl::StrCat(
        first.failure.kernel(), ", ", first.failure.property(), ", ",
        first.failure.field().empty() ? first.failure.key()
                                      : first.failure.field());
  }
  return series;
}

int Run(const Arguments& arguments, const std::string&) {
  const auto fail = [](const absl::Status& s) {
    return UsageError(absl::StrCat("power: ", s.message()));
  };
  Settings settings;
  const auto seeds = arguments.Number("seeds", settings.seeds);
  if (!seeds.ok()) return fail(seeds.status());
  settings.seeds = *seeds;
  const auto inputs = arguments.Number("inputs", settings.inputs);
  if (!inputs.ok()) return fail(inputs.status());
  settings.inputs = *inputs;
  const auto engine = FindEngine(
      arguments.Has("flavour") ? arguments.Get("flavour") : "asan+ubsan");
  if (!engine.ok()) return fail(engine.status());
  settings.engine = *engine;
  if (arguments.Has("corpus")) {
    settings.corpora = {CallersPath(arguments.Get("corpus"))};
  }
  settings.each = arguments.Has("each");
  std::vector<std::string> wanted;
  if (arguments.Has("target")) {
    const std::string names = arguments.Get("target");
    wanted = absl::StrSplit(names, ',');
    for (const std::string& name : wanted) {
      const bool known = std::any_of(AllTargets().begin(), AllTargets().end(),
                                     [&](const TargetInfo& info) {
                                       return info.name == name &&
                                              absl::StartsWith(name, "mutant:");
                                     });
      if (known) continue;
      return fail(absl::InvalidArgumentError(
          absl::StrCat("no wrong twin is named \"", name,
                       "\"; `mlafuzz targets` lists them, mutant:...")));
    }
  }
  if (settings.seeds == 0) {
    return fail(absl::InvalidArgumentError("--seeds must be at least 1"));
  }
  CatchStopSignals();
  std::printf(
      "Kernel executions through the first failure, %s, one job, %d seeds, at "
      "most %d inputs, flavour %s.\n\n"
      "| target | found as | right property | right field | median | 95th "
      "percentile | found | byte "
      "mutator: median | 95th percentile | found |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      settings.corpora.empty() ? "from an empty corpus"
                               : "from the stored cases",
      static_cast<int>(settings.seeds), static_cast<int>(settings.inputs),
      settings.engine.flavour.c_str());
  for (const TargetInfo& info : AllTargets()) {
    const LedgerEntry* entry = FindInLedger(info.name);
    if (entry == nullptr || (wanted.empty() && !entry->core)) continue;
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.end(), info.name) == wanted.end()) {
      continue;
    }
    const auto structured = Measure(settings, info, WorkRequest::STRUCTURED);
    if (!structured.ok()) return fail(structured.status());
    Series bytes;
    if (!arguments.Has("no-bytes")) {
      const auto measured = Measure(settings, info, WorkRequest::BYTES);
      if (!measured.ok()) return fail(measured.status());
      bytes = *measured;
    }
    const auto found = [](const Series& s) {
      return s.runs == 0 ? std::string("-")
                         : absl::StrCat(s.executions.size(), "/", s.runs);
    };
    const auto percentile = [](const Series& s, double share) {
      return s.runs == 0 ? std::string("-") : Percentile(s, share);
    };
    std::printf(
        "| %s |\n",
        absl::StrJoin(
            {info.name, structured->what,
             absl::StrCat(structured->right, "/", structured->runs),
             absl::StrCat(structured->field, "/", structured->runs),
             percentile(*structured, 0.5), percentile(*structured, 0.95),
             found(*structured), percentile(bytes, 0.5),
             percentile(bytes, 0.95), found(bytes)},
            " | ")
            .c_str());
    std::fflush(stdout);
  }
  return kExitNothingFound;
}

}  // namespace

Command PowerCommand() {
  return {"power",
          "",
          "how soon each wrong twin is found, beside a byte mutator",
          {{"target", "NAME,NAME", "only these (default: all mutants)"},
           {"seeds", "N", "campaigns each (default 20)"},
           {"inputs", "N", "a campaign's budget (default 100000)"},
           {"corpus", "DIR", "start from these cases (default: from nothing)"},
           {"no-bytes", nullptr, "leave the byte mutator out"},
           {"each", nullptr, "a line for every campaign, on stderr"},
           {"flavour", "asan+ubsan|plain|race", "build of the kernels"}},
          Run};
}

}  // namespace mlafuzz
