#include "fuzz/command/campaign_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/ledger_file.h"
#include "fuzz/campaign/lifecycle.h"
#include "fuzz/campaign/mutes.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/out_folder.h"
#include "fuzz/campaign/outcome.h"
#include "fuzz/campaign/report.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/corpus_files.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/step_summary_file.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {
namespace {

constexpr double kDefaultSeconds = 60;
constexpr std::uint64_t kMostJobs = 1024;

absl::Status ReadCorpus(const Arguments& arguments, CampaignOptions* options) {
  if (!arguments.Has("corpus")) {
    const auto stored = StoredCases(options->layout);
    if (!stored.ok()) return stored.status();
    options->corpora = {*stored};
    return absl::OkStatus();
  }
  const std::string folder = CallersPath(arguments.Get("corpus"));
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(
        "--corpus: ", folder,
        " is not a folder; make it (an empty one means: from nothing) or "
        "leave --corpus out for the stored cases"));
  }
  options->corpora = {folder};
  const CorpusFiles files = ReadCorpusFiles(folder);
  if (files.files > 0 && files.bad.size() == files.files) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--corpus: no file in ", ShownPath(folder), " is a case (",
        BadFilesText(files), "); an empty folder means: from nothing"));
  }
  if (!files.bad.empty()) {
    options->notes.push_back(absl::StrCat(
        "--corpus: ", files.bad.size(), " of ", files.files, " files in ",
        ShownPath(folder), " are skipped: ", BadFilesText(files)));
  }
  return absl::OkStatus();
}

// summary.md of the reports.
void AppendSummary(const CampaignOptions& options) {
  const auto text = ReadFile(options.out + "/summary.md");
  AppendStepSummary(text.ok() ? *text : std::string(text.status().message()));
}

}  // namespace

absl::StatusOr<Layout> CommonLayout(const std::vector<Targets>& sides,
                                    const std::vector<std::string>& kernels) {
  Layout common = FP8_DS_MLA;
  std::string first;
  for (const Targets& side : sides) {
    const auto made = MakeTargets(side);
    if (!made.ok()) return made.status();
    for (const Kernel kernel : kAllKernels) {
      const bool called = std::find(kernels.begin(), kernels.end(),
                                    KernelName(kernel)) != kernels.end();
      // Index conversion has no pool.
      if (!called || kernel == Kernel::kConvert) continue;
      if (made->For(kernel) == nullptr) continue;
      const Layout layout = LayoutOf(*made, {kernel});
      const std::string who =
          absl::StrCat("the ", KernelName(kernel), " of ", TargetsText(side));
      if (first.empty()) {
        first = who;
        common = layout;
      } else if (layout != common) {
        return absl::InvalidArgumentError(absl::StrCat(
            first, " takes ", Layout_Name(common), ", ", who, " takes ",
            Layout_Name(layout), ": no pool has both layouts"));
      }
    }
  }
  return common;
}

std::vector<Flag> CampaignFlags() {
  return {
      {"kernels", "writer,gather,convert,decode", "what generated cases call"},
      {"time", "120s|2m|1h", "for all of it, minimising too (default 60s)"},
      {"cases", "N", "stop after this many cases"},
      {"jobs", "N", "processes (default 1)"},
      {"seed", "S", "default: random, printed"},
      {"corpus", "DIR", "start from these cases instead of the stored ones"},
      {"stop-on-first", nullptr, "stop at the first finding"},
      {"out", "DIR", "reports and cases (default mlafuzz-out)"},
      {"mute", "FILE", "known causes that do not count (docs/findings.md)"},
      {"ledger", "FILE", "what `mlafuzz ledger --json` wrote, for the report"},
      {"mutator", "structured|bytes", "bytes: libFuzzer's own, for comparison",
       /*hidden=*/true},
      {"case-seconds", "10s", "a case that takes longer hangs (default 10s)",
       /*hidden=*/true},
      {"minimize-seconds", "20s", "at most, a finding (default 20s)",
       /*hidden=*/true},
  };
}

absl::Status ReadCampaignFlags(const Arguments& arguments,
                               CampaignOptions* options) {
  std::vector<Targets> sides = {options->targets};
  if (options->other.has_value()) sides.push_back(*options->other);
  const auto layout = CommonLayout(sides, options->kernels);
  if (!layout.ok()) return layout.status();
  options->layout = *layout;
  auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return engine.status();
  options->engine = *std::move(engine);
  const auto cases = arguments.Number("cases", 0);
  if (!cases.ok()) return cases.status();
  if (*cases == 0 && arguments.Has("cases")) {
    return absl::InvalidArgumentError(
        "--cases needs 1 or more; leave it out, or give --time, for no limit");
  }
  options->cases = *cases;
  const auto seconds =
      arguments.Seconds("time", *cases == 0 ? kDefaultSeconds : 0);
  if (!seconds.ok()) return seconds.status();
  options->seconds = *seconds;
  const auto jobs = arguments.Number("jobs", 1);
  if (!jobs.ok()) return jobs.status();
  if (*jobs == 0 || *jobs > kMostJobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("--jobs needs 1 to ", kMostJobs, ", got ", *jobs));
  }
  options->jobs = static_cast<int>(*jobs);
  const auto seed = arguments.Number("seed", std::random_device()());
  if (!seed.ok()) return seed.status();
  options->seed = *seed;
  options->stop_on_first = arguments.Has("stop-on-first");
  const std::string mutator = arguments.Get("mutator");
  if (mutator == "bytes") {
    options->mutator = WorkRequest::BYTES;
  } else if (!mutator.empty() && mutator != "structured") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--mutator needs structured or bytes, got \"", mutator, "\""));
  }
  const auto case_seconds =
      arguments.Seconds("case-seconds", options->limits.case_seconds);
  if (!case_seconds.ok()) return case_seconds.status();
  options->limits.case_seconds = *case_seconds;
  const auto minimize =
      arguments.Seconds("minimize-seconds", options->minimize_seconds);
  if (!minimize.ok()) return minimize.status();
  options->minimize_seconds = *minimize;
  if (absl::Status s = ReadCorpus(arguments, options); !s.ok()) return s;
  if (arguments.Has("ledger")) {
    const auto text = ReadFile(CallersPath(arguments.Get("ledger")));
    if (!text.ok()) return text.status();
    const auto ledger = ReadLedgerResult(*text, arguments.Get("ledger"));
    if (!ledger.ok()) return ledger.status();
    options->ledger = ledger->dump();
    if (ledger->contains("interrupted")) {
      options->notes.push_back(
          absl::StrCat(arguments.Get("ledger"),
                       ": this ledger was interrupted; wrong kernels that it "
                       "did not come to "
                       "are not in it, and of others it has fewer seeds"));
    }
  }
  if (arguments.Has("mute")) {
    auto mutes =
        ReadMutes(CallersPath(arguments.Get("mute")), arguments.Get("mute"));
    if (!mutes.ok()) return mutes.status();
    options->mutes = *std::move(mutes);
  }
  options->out =
      CallersPath(arguments.Has("out") ? arguments.Get("out") : "mlafuzz-out");
  options->shown_out = ShownPath(options->out);
  options->program = ProgramCommand();
  return absl::OkStatus();
}

namespace {

// What a look at known causes may take, of a campaign's time.
constexpr double kProbeShare = 0.25;

// Runs the examples of what the output folder knows.
void ProbeKnown(CampaignOptions& options, Lifecycle& lifecycle) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  WatchdogLimits limits = options.limits;
  if (options.seconds > 0) {
    limits.until =
        start +
        std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(kProbeShare * options.seconds));
  }
  lifecycle.Probe(TargetsText(options.targets),
                  [&](const std::string& binary,
                      const KnownCause& cause) -> absl::StatusOr<Outcome> {
                    WorkRequest request = RequestFor(options, WorkRequest::RUN);
                    request.add_cases(binary);
                    request.set_cause(cause.key);
                    const auto runs =
                        RunInWorkers(options.engine, std::move(request),
                                     options.kernels, limits);
                    if (!runs.ok()) return runs.status();
                    return OutcomeOf((*runs)[0], cause.key, cause.kernel);
                  });
  options.seconds_spent +=
      std::chrono::duration<double>(Clock::now() - start).count();
}

// What a campaign saw, for its folder to know.
std::vector<SeenCause> SeenBy(const CampaignResult& result) {
  std::vector<SeenCause> seen;
  for (const Finding& finding : result.findings.all()) {
    // No case of it.
    if (finding.failure.property() == "worker") continue;
    SeenCause& one = seen.emplace_back();
    one.key = finding.failure.key();
    one.kernel = finding.failure.kernel();
    one.cause = finding.failure.cause();
    if (!finding.minimal_binary.empty()) {
      one.cases.push_back(finding.minimal_binary);
    }
    one.cases.push_back(finding.case_binary);
  }
  return seen;
}

void MuteKnown(const CampaignOptions& options, CampaignResult& result) {
  for (Finding& finding : result.findings.all()) {
    const Mute* mute = FindMute(options.mutes, finding.failure.key());
    if (mute != nullptr) finding.muted = MuteText(*mute);
  }
  for (KnownCause& cause : result.known) {
    const Mute* mute = FindMute(options.mutes, cause.key);
    if (mute != nullptr) cause.muted = MuteText(*mute);
  }
  for (const Mute& mute : options.mutes) {
    const bool met =
        std::any_of(result.findings.all().begin(), result.findings.all().end(),
                    [&mute](const Finding& finding) {
                      return finding.failure.key() == mute.key;
                    }) ||
        std::any_of(
            result.known.begin(), result.known.end(),
            [&mute](const KnownCause& cause) { return cause.key == mute.key; });
    if (!met) {
      result.notes.push_back(absl::StrCat("the mute of ", ShownLine(mute.key),
                                          " was not needed (", MuteText(mute),
                                          ")"));
    }
  }
}

}  // namespace

int CampaignToExitCode(
    const CampaignOptions& options,
    const std::function<absl::Status(CampaignResult*)>& mark) {
  CatchStopSignals();
  const auto out =
      OutFolder::Claim(options.out, options.shown_out, options.command);
  if (!out.ok()) return UsageError(out.status());
  CampaignOptions claimed = options;
  claimed.out_claimed = true;
  std::printf(
      "mlafuzz: %s%s, kernels %s, flavour %s, tier %s, seed "
      "%llu\n",
      TargetsText(options.targets).c_str(),
      options.other.has_value()
          ? (" against " + TargetsText(*options.other)).c_str()
          : "",
      absl::StrJoin(options.kernels, ",").c_str(),
      options.engine.flavour.c_str(), TierText(options.targets).c_str(),
      static_cast<unsigned long long>(options.seed));
  for (const std::string& note : options.notes) {
    std::printf("note: %s\n", note.c_str());
  }
  if (out->kept_previous()) {
    std::printf("note: the last campaign's results moved to %s/previous\n",
                options.shown_out.c_str());
  }
  std::fflush(stdout);
  // A comparison has no cause of one target.
  const bool keeps = !options.other.has_value();
  auto lifecycle = Lifecycle::Open(options.out);
  if (!lifecycle.ok()) return UsageError(lifecycle.status());
  if (keeps) ProbeKnown(claimed, *lifecycle);
  auto result = RunCampaign(claimed);
  if (!result.ok()) return UsageError(result.status());
  result->notes.insert(result->notes.begin(), lifecycle->notes().begin(),
                       lifecycle->notes().end());
  if (keeps && result->error.empty()) {
    const absl::Status updated = lifecycle->Update(TargetsText(options.targets),
                                                   Today(), SeenBy(*result));
    if (!updated.ok()) {
      result->notes.push_back(absl::StrCat(
          "what is known of causes is not up to date: ", updated.message()));
    }
    result->known = lifecycle->causes();
  }
  MuteKnown(options, *result);
  // Where it cannot be told, all count.
  absl::Status marked;
  if (mark != nullptr) marked = mark(&*result);
  if (!marked.ok()) {
    result->notes.push_back(
        absl::StrCat("which findings are new could not be told, so all count: ",
                     marked.message()));
  }
  result->only_new = mark != nullptr && marked.ok();
  const absl::Status reported = WriteReports(options, *result);
  if (reported.ok()) {
    AppendSummary(options);
  } else {
    // What is known goes where there is room.
    std::printf(
        "%s\n",
        ReportText(options, *result, ReadBuildInfo(options.engine)).c_str());
  }
  for (const std::string& note : result->notes) {
    std::printf("note: %s\n", note.c_str());
  }
  for (const std::string& incident : result->incidents) {
    std::printf("from outside: %s\n", incident.c_str());
  }
  const int code = ExitCode(*result);
  for (const Finding& finding : result->findings.all()) {
    std::string why;
    if (!finding.muted.empty()) {
      why = absl::StrCat(" (muted by ", finding.muted, ")");
    } else if (!finding.known.empty()) {
      why = absl::StrCat(" (", finding.known, ")");
    }
    std::printf("%s%s: %s%s\n",
                finding.known.empty() ? "" : "known: ", finding.id.c_str(),
                finding.failure.cause().c_str(), why.c_str());
  }
  for (const KnownCause& cause : result->known) {
    if (cause.news == "new" || cause.news == "of other targets") continue;
    std::printf("cause %s/%s: %s%s\n", StageName(cause.stage), cause.id.c_str(),
                cause.news.c_str(), cause.muted.empty() ? "" : " (muted)");
  }
  if (code == kExitNothingFound) {
    const bool muted = std::any_of(
        result->findings.all().begin(), result->findings.all().end(),
        [](const Finding& finding) { return !finding.muted.empty(); });
    std::printf("nothing %sfound%s%s\n",
                result->findings.empty() || muted ? "" : "new ",
                muted ? " but what is muted" : "",
                result->interrupted ? " (stopped by a signal)" : "");
  } else if (result->findings.empty() && code == kExitFound) {
    std::printf("%lu failing checks, of which no record arrived\n",
                static_cast<unsigned long>(result->totals.failures));
  } else if (code == kExitUninformative) {
    std::printf("%s\n", SummaryLine(*result).c_str());
  }
  // Whatever was found: what was not compared is not known to be equal.
  std::fputs(NotComparedText(result->totals).c_str(), stdout);
  if (!reported.ok()) {
    std::fflush(stdout);
    return UsageError(absl::StrCat(
        reported.message(),
        "; the report stands above: make room, or choose another folder with "
        "--out=DIR"));
  }
  std::printf("report: %s/report.txt, %s/report.html\n",
              options.shown_out.c_str(), options.shown_out.c_str());
  if (!result->error.empty()) {
    std::fflush(stdout);
    return UsageError(absl::StrCat("the campaign ended early: ", result->error,
                                   "; what it had found is in its report"));
  }
  return code;
}

}  // namespace mlafuzz
