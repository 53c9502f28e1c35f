#include "fuzz/campaign/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/case_files.h"

namespace mlafuzz {
namespace {

constexpr double kTerminalInterval = 0.5;  // seconds
constexpr double kPlainInterval = 5;

std::size_t Columns() {
  struct winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
    return size.ws_col - 1;
  }
  return 120;
}

}  // namespace

std::string Grouped(std::uint64_t n) {
  std::string digits = absl::StrCat(n);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string ProgressLine(const CampaignOptions& options, double seconds,
                         double cases_per_second, const Totals& totals,
                         std::size_t findings) {
  std::string line = absl::StrFormat(
      "%6.1f s  %s cases  %s/s  cov %d ", seconds, Grouped(totals.cases),
      Grouped(static_cast<std::uint64_t>(std::max(0.0, cases_per_second))),
      totals.coverage);
  for (int v = 0; v < kVerdictCount; ++v) {
    if (totals.verdicts[static_cast<std::size_t>(v)] == 0) continue;
    absl::StrAppend(&line, " ", VerdictName(static_cast<Verdict>(v)), " ",
                    Grouped(totals.verdicts[static_cast<std::size_t>(v)]));
  }
  if (totals.not_compared > 0) {
    absl::StrAppend(&line, " not compared ", Grouped(totals.not_compared));
  }
  absl::StrAppend(&line, "  ", findings,
                  findings == 1 ? " finding" : " findings");
  if (options.seconds > 0) {
    absl::StrAppendFormat(
        &line, "  %.0f s left",
        std::max(0.0, options.seconds - options.seconds_spent - seconds));
  } else if (options.cases > 0) {
    absl::StrAppend(
        &line, "  ",
        Grouped(options.cases - std::min(options.cases, totals.cases)),
        " cases left");
  }
  return line;
}

Progress::Progress(const CampaignOptions& options)
    : options_(options),
      terminal_(isatty(STDOUT_FILENO) != 0),
      next_(terminal_ ? 0 : kPlainInterval) {}

void Progress::Show(double seconds, const Totals& totals,
                    const FindingSet& findings) {
  if (options_.quiet || seconds < next_) return;
  next_ = seconds + (terminal_ ? kTerminalInterval : kPlainInterval);
  const double rate = seconds > last_at_
                          ? static_cast<double>(totals.cases - last_cases_) /
                                (seconds - last_at_)
                          : 0;
  last_at_ = seconds;
  last_cases_ = totals.cases;
  std::string line =
      ProgressLine(options_, seconds, rate, totals, findings.all().size());
  if (terminal_) {
    line = line.substr(0, Columns());
    std::printf("\r\x1b[K%s", line.c_str());
  } else {
    std::printf("%s\n", line.c_str());
  }
  std::fflush(stdout);
}

void Progress::Finish(double seconds, const Totals& totals,
                      const FindingSet& findings) {
  if (options_.quiet) return;
  ClearLine();
  CampaignOptions done = options_;
  done.seconds = 0;
  done.cases = 0;
  std::printf("%s\n", ProgressLine(done, seconds,
                                   static_cast<double>(totals.cases) /
                                       std::max(seconds, 1e-3),
                                   totals, findings.all().size())
                          .c_str());
  std::fflush(stdout);
}

void Progress::Announce(const Finding& finding) {
  if (options_.quiet) return;
  ClearLine();
  const Failure& f = finding.failure;
  const std::string replay = ReplayCommand(options_, finding);
  std::printf("FINDING %s: %s %s, %s: %s\n        %s\n", finding.id.c_str(),
              f.kernel().c_str(), f.verdict().c_str(), f.property().c_str(),
              f.cause().c_str(),
              replay.empty() ? finding.unwritten.c_str() : replay.c_str());
  std::fflush(stdout);
}

void Progress::Joined(const std::string& id, const Finding& into) {
  if (options_.quiet || id == into.id) return;
  ClearLine();
  std::printf("FINDING %s is %s now\n        %s\n", id.c_str(), into.id.c_str(),
              ReplayCommand(options_, into).c_str());
  std::fflush(stdout);
}

void Progress::FollowUp(const Finding& finding, const char* what) {
  if (options_.quiet || !terminal_) return;
  ClearLine();
  std::printf("%s %s ...", what, finding.id.c_str());
  std::fflush(stdout);
}

void Progress::ClearLine() {
  if (terminal_ && !options_.quiet) std::printf("\r\x1b[K");
}

}  // namespace mlafuzz
