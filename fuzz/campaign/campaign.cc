#include "fuzz/campaign/campaign.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/fleet.h"
#include "fuzz/campaign/followup.h"
#include "fuzz/campaign/met.h"
#include "fuzz/campaign/observe.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/out_folder.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/reproduce.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/settle.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/worker/distinct.h"
#include "fuzz/worker/foreign.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

// Of a campaign's time with findings, what is kept for settling, rerunning and
// minimising them, and behind that for their reproducers.
constexpr double kFollowUpShare = 0.25;
constexpr double kReproduceShare = 0.1;
// What the reproducers of one finding take: two builds and six runs.
constexpr double kReproduceSeconds = 10;
// Waits that nobody asks about.
constexpr double kNoticeable = 0.5;

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const std::string& folder)
      : options_(options),
        folder_(folder),
        fleet_(options, folder),
        progress_(options) {}

  absl::StatusOr<CampaignResult> Run() {
    start_ = Clock::now();
    if (absl::Status s = fleet_.Start(); !s.ok()) return s;
    while (!fleet_.AllDone() && !Over()) {
      std::vector<FindingRecord> records;
      std::vector<Fleet::Death> deaths;
      const absl::Status s =
          fleet_.Poll(result_.findings.Causes(), &records, &deaths);
      // What came since the last look may be another kernel's.
      if (LibraryHasChanged()) break;
      Take(records);
      if (!s.ok()) {
        if (fleet_.Sum().cases == 0 && result_.findings.empty()) return s;
        result_.error = std::string(s.message());
        break;
      }
      for (const Fleet::Death& death : deaths) Judge(death);
      const Totals sum = fleet_.Sum();
      progress_.Show(Seconds(), sum, result_.findings);
      result_.curve.Add(PointOf(sum));
      usleep(20'000);
    }
    std::vector<FindingRecord> records;
    std::vector<Fleet::Death> deaths;
    const Fleet::Waited waited = fleet_.Stop(OneCall(), &records, &deaths);
    NoteWait(waited);
    if (LibraryHasChanged()) {
      records.clear();
      deaths.clear();
    }
    result_.interrupted = StopSignals() > 0;
    result_.seconds = Seconds();
    Take(records);
    for (const Fleet::Death& death : deaths) JudgeLate(death);
    result_.totals = fleet_.Sum();
    for (int v = 0; v < kVerdictCount; ++v) {
      result_.totals.verdicts[v] += deaths_[v];
      result_.totals.checks += deaths_[v];
    }
    for (const Kernel kernel : kAllKernels) {
      const auto k = static_cast<std::size_t>(kernel);
      const DistinctCount distinct = CountDistinct(folder_, kernel);
      result_.totals.distinct[k] = distinct.cases;
      result_.totals.distinct_estimated[k] = distinct.estimated;
    }
    result_.respawns = fleet_.respawns();
    progress_.Finish(result_.seconds, result_.totals, result_.findings);
    result_.curve.Finish(PointOf(result_.totals));
    KeepCorpus();
    CampaignOptions sooner = options_;
    sooner.limits.until -= std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(ReproduceSeconds()));
    if (options_.settle && result_.error.empty()) {
      SettleCauses(sooner, result_.findings, progress_);
    }
    if (options_.follow_up && result_.error.empty()) {
      std::vector<Finding> met;
      FollowUp(sooner, result_.findings.all(), &result_.totals, progress_,
               &met);
      if (options_.settle) {
        AddWhatWasMet(sooner, std::move(met), result_.findings.all(),
                      &result_.totals, progress_);
      }
      ObserveFindings(options_, result_.findings.all(), progress_);
      if (!LibraryHasChanged()) {
        MakeReproducers(options_, result_.findings.all(), progress_);
      }
    }
    NoteNotImplemented();
    for (const Finding& finding : result_.findings.all()) {
      if (finding.unwritten.empty()) continue;
      result_.notes.push_back(
          absl::StrCat(finding.id, ": not all of its files could be written, ",
                       "the report has its case: ", finding.unwritten));
    }
    return std::move(result_);
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  CurvePoint PointOf(const Totals& totals) const {
    return {Seconds(), totals.cases, totals.coverage,
            result_.findings.all().size()};
  }

  bool Over() const {
    if (StopSignals() > 0) return true;
    if (options_.seconds > 0 && Seconds() >= FuzzSeconds()) return true;
    return options_.stop_on_first && !result_.findings.empty();
  }

  // Until when it is fuzzed.
  double FuzzSeconds() const {
    const double all = options_.seconds - options_.seconds_spent;
    if (!options_.follow_up || result_.findings.empty()) return all;
    return all -
           std::min(kFollowUpShare * options_.seconds,
                    (options_.minimize_seconds +
                     (options_.settle ? options_.settle_seconds : 0)) *
                        static_cast<double>(result_.findings.all().size())) -
           ReproduceSeconds();
  }

  // Of the time, what is kept for observing findings and trying reproducers.
  double ReproduceSeconds() const {
    if (!options_.follow_up) return 0;
    return std::min(
        kReproduceShare * options_.seconds,
        kReproduceSeconds * static_cast<double>(result_.findings.all().size()));
  }

  // How long a case that runs when all is over may still take.
  double OneCall() const {
    // With the second run of a call that seems to hang.
    return AnyForeign(options_.targets) ? 5 * CallSeconds(options_.targets)
                                        : options_.limits.case_seconds;
  }

  // Where cases lie of which nothing is known: one may hang, and would be lost.
  std::string SaveUnfinished(const std::vector<std::string>& cases) {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (cases[i].empty()) continue;
      Finding finding;
      finding.id = absl::StrCat("unfinished-", i + 1);
      const std::string file = SaveCase(options_, finding, "case", cases[i]);
      if (!file.empty()) files.push_back(file);
    }
    if (files.empty()) return "";
    return absl::StrCat("; replay ", absl::StrJoin(files, ", "));
  }

  void NoteWait(const Fleet::Waited& waited) {
    if (waited.killed > 0) {
      result_.notes.push_back(absl::StrFormat(
          "%d %s when the campaign was over and %s ended without a verdict "
          "after %.1f s%s",
          waited.killed, waited.killed == 1 ? "case ran" : "cases ran",
          waited.killed == 1 ? "was" : "were", waited.seconds,
          SaveUnfinished(waited.cases)));
    } else if (waited.seconds > kNoticeable) {
      result_.notes.push_back(absl::StrFormat(
          "when the campaign was over %.1f s were waited for a call that ran",
          waited.seconds));
    }
  }

  // Calls that a kernel under test declined are no pass of it.
  void NoteNotImplemented() {
    for (const Kernel kernel : kAllKernels) {
      const std::uint64_t n =
          result_.totals.not_implemented[static_cast<std::size_t>(kernel)];
      if (n == 0 || std::find(options_.kernels.begin(), options_.kernels.end(),
                              KernelName(kernel)) == options_.kernels.end()) {
        continue;
      }
      result_.notes.push_back(
          absl::StrCat("the ", KernelName(kernel), " answered ", n,
                       n == 1 ? " call" : " calls",
                       " with \"not implemented\", of which nothing is said"));
    }
  }

  // Looks whether the files of libraries are still those that were loaded when
  // the command began; if not, that ends the campaign.
  bool LibraryHasChanged() {
    if (library_changed_) return true;
    std::string change = LibraryChange(options_.targets);
    if (change.empty() && options_.other.has_value()) {
      change = LibraryChange(*options_.other);
    }
    if (change.empty()) return false;
    library_changed_ = true;
    result_.error = std::move(change);
    return true;
  }

  void Take(const std::vector<FindingRecord>& records) {
    for (const FindingRecord& record : records) {
      Finding finding;
      finding.failure = record.failure();
      finding.case_binary = record.case_binary();
      for (const Kernel kernel : kAllKernels) {
        const int k = static_cast<int>(kernel);
        if (record.failure().kernel() == KernelName(kernel) &&
            k < record.executions_size()) {
          finding.executions_to_find = record.executions(k);
        }
      }
      finding.cases_to_find = record.cases();
      finding.cpu_seconds_to_find = record.cpu_seconds();
      finding.earlier_calls = record.earlier_calls();
      Announce(std::move(finding));
    }
  }

  // Saved and shown at once, minimised later: a campaign that is cut off has
  // lost nothing.
  void Announce(Finding finding) {
    finding.seconds_to_find = Seconds();
    std::string renamed;
    Finding* added = result_.findings.Add(std::move(finding), &renamed);
    if (added == nullptr) return;
    if (!renamed.empty()) RemoveFinding(options_, renamed);
    added->case_file = SaveCase(options_, *added, "case", added->case_binary);
    SaveExplanation(options_, *added);
    progress_.Announce(*added);
  }

  void Judge(const Fleet::Death& death) {
    if (death.killed) {
      JudgeKilled(death);
      return;
    }
    if (!death.in_case || death.case_binary.empty()) {
      // Not a kernel's doing: mutating or counting died. Never hidden.
      Count("protocol");
      Finding finding;
      finding.failure.set_verdict("protocol");
      finding.failure.set_property("worker");
      finding.failure.set_key(absl::StrCat("worker/", death.verdict));
      finding.failure.set_cause(
          absl::StrCat("a worker ended between two cases: ", death.reason));
      finding.case_binary = death.case_binary;
      Announce(std::move(finding));
      return;
    }
    if (death.verdict == "hang") {
      const absl::StatusOr<bool> ends = EndsWithMoreTime(death.case_binary);
      if (!ends.ok()) {
        result_.notes.push_back(absl::StrCat(
            "a case had ", death.reason,
            ", and is no finding because it could not be run again with more "
            "time: ",
            std::string(ends.status().message())));
        return;
      }
      if (*ends) {
        ++result_.slow_cases;
        return;
      }
    }
    AnnounceDeath(death, DeathFailure(death.verdict, death.case_binary,
                                      options_.kernels, death.reason));
  }

  // Of a worker whose last case, begun in time, took its process when time was
  // up. After a signal nothing is run again: what takes that is no verdict.
  void JudgeLate(const Fleet::Death& death) {
    if (result_.interrupted && (death.killed || death.verdict == "hang")) {
      return;
    }
    Judge(death);
  }

  // By somebody, by the system, or by what the case itself did: the case alone
  // tells, in fresh processes.
  void JudgeKilled(const Fleet::Death& death) {
    const std::size_t incident = result_.incidents.size();
    result_.incidents.push_back(
        absl::StrCat("a worker was ", death.reason,
                     death.in_case ? " in a case" : " between two cases"));
    std::string& text = result_.incidents[incident];
    if (!death.in_case || death.case_binary.empty()) return;
    const auto runs = RunAlone(death.case_binary, options_.limits);
    if (!runs.ok() || runs->empty()) {
      absl::StrAppend(&text, "; it could not be rerun: ",
                      std::string(runs.status().message()));
      return;
    }
    if ((*runs)[0].failures().empty()) {
      absl::StrAppend(&text, ", which is right when run alone");
      return;
    }
    absl::StrAppend(&text, ", which fails when run alone, too");
    for (const Failure& failure : (*runs)[0].failures()) {
      if (failure.verdict() == "crash" || failure.verdict() == "oom" ||
          failure.verdict() == "hang") {
        // The case is the reason: no accident of the environment.
        result_.incidents.pop_back();
        AnnounceDeath(death, failure);
        return;
      }
      Finding finding;
      finding.failure = failure;
      finding.case_binary = death.case_binary;
      finding.cases_to_find = fleet_.Sum().cases + 1;
      Announce(std::move(finding));
    }
  }

  void AnnounceDeath(const Fleet::Death& death, const Failure& failure) {
    Count(failure.verdict());
    Finding finding;
    finding.death = true;
    finding.failure = failure;
    finding.case_binary = death.case_binary;
    const Totals sum = fleet_.Sum();
    for (const Kernel kernel : kAllKernels) {
      if (finding.failure.kernel() != KernelName(kernel)) continue;
      // The calls of a case are counted when it ends; this one did not.
      finding.executions_to_find =
          sum.executions[static_cast<std::size_t>(kernel)] +
          CallsOf(death.case_binary, finding.failure.kernel());
    }
    finding.cases_to_find = sum.cases + 1;
    finding.cpu_seconds_to_find =
        1e-9 * static_cast<double>(sum.cpu_nanoseconds);
    Announce(std::move(finding));
  }

  // Verdicts that no worker lives to count.
  void Count(absl::string_view verdict) {
    for (int v = 0; v < kVerdictCount; ++v) {
      if (verdict == VerdictName(static_cast<Verdict>(v))) ++deaths_[v];
    }
  }

  // A busy machine is not a hang: thrice the time, in a fresh process.
  absl::StatusOr<bool> EndsWithMoreTime(const std::string& case_binary) const {
    WatchdogLimits limits = options_.limits;
    limits.case_seconds *= 3;
    const auto runs = RunAlone(case_binary, limits);
    if (!runs.ok()) return runs.status();
    for (const CaseRun& run : *runs) {
      for (const Failure& failure : run.failures()) {
        if (failure.verdict() == "hang") return false;
      }
    }
    return true;
  }

  absl::StatusOr<std::vector<CaseRun>> RunAlone(
      const std::string& case_binary, const WatchdogLimits& limits) const {
    WorkRequest request =
        RequestFor(options_, options_.other.has_value() ? WorkRequest::DIFF
                                                        : WorkRequest::RUN);
    request.add_cases(case_binary);
    auto runs = RunInWorkers(options_.engine, std::move(request),
                             options_.kernels, limits);
    if (!runs.ok()) return runs.status();
    for (const CaseRun& run : *runs) {
      if (!run.error().empty()) return absl::UnavailableError(run.error());
    }
    return runs;
  }

  // File by file: what cannot be copied whole is not there.
  absl::Status CopyCorpus(const std::string& kept) {
    std::error_code error;
    std::filesystem::remove_all(kept, error);
    std::filesystem::create_directories(kept, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat(kept, ": ", error.message()));
    }
    for (std::filesystem::directory_iterator
             it(absl::StrCat(folder_, "/corpus"), error),
         end;
         !error && it != end; it.increment(error)) {
      const std::string path =
          absl::StrCat(kept, "/", it->path().filename().string());
      std::error_code copied;
      std::filesystem::copy_file(it->path(), path, copied);
      if (!copied) continue;
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
      return absl::UnavailableError(
          absl::StrCat(path, ": cannot write: ", copied.message()));
    }
    return error ? absl::UnavailableError(
                       absl::StrCat(folder_, "/corpus: ", error.message()))
                 : absl::OkStatus();
  }

  void KeepCorpus() {
    if (const absl::Status s = CopyCorpus(options_.out + "/corpus"); !s.ok()) {
      result_.corpus_error = std::string(s.message());
    } else if (const absl::Status room = ScratchHasRoom(folder_); !room.ok()) {
      result_.corpus_error = std::string(room.message());
    }
    if (result_.corpus_error.empty()) return;
    result_.notes.push_back(absl::StrCat(
        "not every case that was new could be kept: ", result_.corpus_error));
  }

  const CampaignOptions& options_;
  std::string folder_;
  Fleet fleet_;
  Progress progress_;
  Clock::time_point start_;
  CampaignResult result_;
  std::array<std::uint64_t, kVerdictCount> deaths_ = {};
  bool library_changed_ = false;
};

}  // namespace

int ExitCode(const CampaignResult& result) {
  if (!result.error.empty()) return 2;
  bool excused = false;
  for (const Finding& finding : result.findings.all()) {
    if (finding.muted.empty() && finding.known.empty()) return 1;
    excused = true;
  }
  for (const KnownCause& cause : result.known) {
    const bool still = cause.still_fails();
    if (!still && !cause.is_back()) continue;
    if (cause.muted.empty() && !(still && result.only_new)) return 1;
    excused = true;
  }
  if (excused) return 0;
  // Failures of which no record arrived are failures none the less; those of a
  // cause that does not count are its own.
  if (result.totals.failures != 0) return 1;
  // Two targets that never took one case were not compared, however right
  // either is.
  if (NothingCompared(result.totals)) return 3;
  return result.totals.informative == 0 ? 3 : 0;
}

absl::StatusOr<CampaignResult> RunCampaign(const CampaignOptions& options) {
  std::optional<OutFolder> out;
  if (!options.out_claimed) {
    auto claimed =
        OutFolder::Claim(options.out, options.shown_out, options.command);
    if (!claimed.ok()) return claimed.status();
    out.emplace(*std::move(claimed));
  }
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  CampaignOptions bounded = options;
  if (options.seconds > 0) {
    bounded.limits.until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::max(
                               0.0, options.seconds - options.seconds_spent)));
  }
  return Campaign(bounded, folder->path()).Run();
}

}  // namespace mlafuzz
