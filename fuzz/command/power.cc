// mlafuzz power

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/corpus_files.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/paired_ratio.h"
#include "fuzz/command/target_flags.h"
#include "kernels/target_set.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

// One twin under one mutator over all seeds.
struct Series {
  std::vector<std::uint64_t> executions;  // of the seeds that found it
  std::vector<std::uint64_t> by_seed;     // 0: not found
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
  std::string backend;  // "cuda:", or nothing
  std::uint32_t fuse = 0;
  bool every = false;
  bool each = false;
};

absl::StatusOr<Series> Measure(const Settings& settings, const TargetInfo& info,
                               WorkRequest::Mutator mutator,
                               std::uint32_t fuse = 0) {
  Series series;
  for (std::uint64_t seed = 1; seed <= settings.seeds; ++seed) {
    auto out = ScratchFolder::Create();
    if (!out.ok()) return out.status();
    CampaignOptions options;
    options.engine = settings.engine;
    options.targets.set_all(absl::StrCat(settings.backend, info.name));
    options.fuse = fuse;
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
    series.by_seed.push_back(0);
    if (result->findings.empty()) continue;
    const Finding& first = result->findings.all()[0];
    series.executions.push_back(first.executions_to_find);
    series.by_seed.back() = first.executions_to_find;
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

std::string Found(const Series& s) {
  return s.runs == 0 ? std::string("-")
                     : absl::StrCat(s.executions.size(), "/", s.runs);
}

void PrintRow(const std::vector<std::string>& cells) {
  std::printf("| %s |\n", absl::StrJoin(cells, " | ").c_str());
  std::fflush(stdout);
}

// How soon, beside a byte mutator.
absl::Status PowerOf(const Settings& settings, bool bytes_too,
                     const std::vector<const TargetInfo*>& twins) {
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
  for (const TargetInfo* info : twins) {
    const auto structured = Measure(settings, *info, WorkRequest::STRUCTURED);
    if (!structured.ok()) return structured.status();
    Series bytes;
    if (bytes_too) {
      const auto measured = Measure(settings, *info, WorkRequest::BYTES);
      if (!measured.ok()) return measured.status();
      bytes = *measured;
    }
    const auto percentile = [](const Series& s, double share) {
      return s.runs == 0 ? std::string("-") : Percentile(s, share);
    };
    PrintRow({info->name, structured->what,
              absl::StrCat(structured->right, "/", structured->runs),
              absl::StrCat(structured->field, "/", structured->runs),
              percentile(*structured, 0.5), percentile(*structured, 0.95),
              Found(*structured), percentile(bytes, 0.5),
              percentile(bytes, 0.95), Found(bytes)});
  }
  return absl::OkStatus();
}

// How soon where cases share calls, beside one case a call: the same seeds.
absl::Status FusedPower(const Settings& settings,
                        const std::vector<const TargetInfo*>& twins) {
  constexpr double kMost = 1.2;
  std::printf(
      "Kernel executions through the first failure, a case of a shared call "
      "being one, %s, one job, %d seeds, at most %d inputs, flavour %s. "
      "Ratio: the geometric mean over seeds that found it both ways, fused to "
      "one by one, and its one-sided 95 %% bounds.\n\n"
      "| target | one by one: median | 95th percentile | found | %u at once: "
      "median | 95th percentile | found | ratio | at least | at most |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      settings.corpora.empty() ? "from an empty corpus"
                               : "from the stored cases",
      static_cast<int>(settings.seeds), static_cast<int>(settings.inputs),
      settings.engine.flavour.c_str(), settings.fuse);
  PairedRatio all;
  int within = 0, above = 0, single_only = 0, fused_only = 0, neither = 0;
  for (const TargetInfo* info : twins) {
    const auto single = Measure(settings, *info, WorkRequest::STRUCTURED);
    if (!single.ok()) return single.status();
    const auto fused =
        Measure(settings, *info, WorkRequest::STRUCTURED, settings.fuse);
    if (!fused.ok()) return fused.status();
    PairedRatio own;
    for (std::size_t i = 0; i < single->by_seed.size(); ++i) {
      const std::uint64_t a = single->by_seed[i], b = fused->by_seed[i];
      if (a == 0 || b == 0) {
        single_only += a != 0 ? 1 : 0;
        fused_only += b != 0 ? 1 : 0;
        neither += a == 0 && b == 0 ? 1 : 0;
        continue;
      }
      own.Add(static_cast<double>(a), static_cast<double>(b));
      all.Add(static_cast<double>(a), static_cast<double>(b));
    }
    if (own.count() != 0) {
      within += own.ratio() <= kMost ? 1 : 0;
      above += own.low() > kMost ? 1 : 0;
    }
    const auto cell = [&](double x) {
      return own.count() == 0 ? std::string("-") : absl::StrFormat("%.2f", x);
    };
    PrintRow({info->name, Percentile(*single, 0.5), Percentile(*single, 0.95),
              Found(*single), Percentile(*fused, 0.5), Percentile(*fused, 0.95),
              Found(*fused), cell(own.ratio()), cell(own.low()),
              cell(own.high())});
  }
  std::printf(
      "\nof %d targets: ratio at most %.1f: %d; above it beyond chance: %d; "
      "of %d campaigns each way found one by one alone: %d, at once alone: "
      "%d, neither: %d; ratio of all: %s\n",
      static_cast<int>(twins.size()), kMost, within, above,
      static_cast<int>(twins.size() * settings.seeds), single_only, fused_only,
      neither,
      all.count() == 0 ? "-" : absl::StrFormat("%.2f", all.ratio()).c_str());
  return absl::OkStatus();
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
    const std::string folder = CallersPath(arguments.Get("corpus"));
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
      return fail(absl::NotFoundError(absl::StrCat(
          "--corpus: ", folder,
          " is not a folder; leave --corpus out to start from nothing")));
    }
    const CorpusFiles files = ReadCorpusFiles(folder);
    if (files.files > 0 && files.bad.size() == files.files) {
      return fail(absl::InvalidArgumentError(absl::StrCat(
          "--corpus: no file in ", ShownPath(folder), " is a case (",
          BadFilesText(files), "); leave --corpus out to start from nothing")));
    }
    settings.corpora = {folder};
  }
  settings.each = arguments.Has("each");
  std::vector<std::string> wanted;
  if (arguments.Has("target") && arguments.Has("all")) {
    return fail(absl::InvalidArgumentError(
        "--target and --all: leave one of them out"));
  }
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
  // Of a campaign 0 is no limit.
  if (settings.inputs == 0) {
    return fail(absl::InvalidArgumentError(
        "--inputs must be at least 1: a twin that is not found ends by it"));
  }
  CatchStopSignals();
  settings.every = arguments.Has("all");
  if (arguments.Has("backend")) {
    const std::string backend = arguments.Get("backend");
    if (backend != "cuda" && backend != "host") {
      return fail(absl::InvalidArgumentError(
          absl::StrCat("--backend needs host or cuda, got \"", backend, "\"")));
    }
    if (backend == "cuda") settings.backend = std::string(kOnDevice);
  }
  std::vector<const TargetInfo*> twins;
  for (const TargetInfo& info : AllTargets()) {
    const LedgerEntry* entry = FindInLedger(info.name);
    if (entry == nullptr) continue;
    if (wanted.empty() ? !settings.every && !entry->core
                       : std::find(wanted.begin(), wanted.end(), info.name) ==
                             wanted.end()) {
      continue;
    }
    twins.push_back(&info);
  }
  absl::Status done;
  if (arguments.Has("fuse")) {
    const auto fuse = arguments.Number("fuse", 0);
    if (!fuse.ok()) return fail(fuse.status());
    if (*fuse < 2 || *fuse > kMostFused) {
      return fail(absl::InvalidArgumentError(absl::StrCat(
          "--fuse needs 2 to ", kMostFused, " cases, got ", *fuse)));
    }
    settings.fuse = static_cast<std::uint32_t>(*fuse);
    done = FusedPower(settings, twins);
  } else {
    done = PowerOf(settings, !arguments.Has("no-bytes"), twins);
  }
  if (!done.ok()) return fail(done);
  return kExitNothingFound;
}

}  // namespace

Command PowerCommand() {
  return {"power",
          "",
          "how soon each wrong twin is found, beside a byte mutator",
          {{"target", "NAME,NAME", "only these (default: the ledger's core)"},
           {"all", nullptr, "all wrong twins of the ledger"},
           {"fuse", "N",
            "compare with campaigns of N cases at once, in one call where they "
            "may share it, instead of a byte mutator"},
           {"backend", "host|cuda", "where kernels run"},
           {"seeds", "N", "campaigns each (default 20)"},
           {"inputs", "N", "a campaign's budget (default 100000)"},
           {"corpus", "DIR", "start from these cases (default: from nothing)"},
           {"no-bytes", nullptr, "leave the byte mutator out"},
           {"each", nullptr, "a line for every campaign, on stderr"},
           {"flavour", "asan+ubsan|plain|race", "build of the kernels"}},
          Run};
}

}  // namespace mlafuzz
