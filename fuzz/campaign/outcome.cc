#include "fuzz/campaign/outcome.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fuzz/worker/known_causes.h"

namespace mlafuzz {
namespace {

// Of a call that is right, whether or not a wrong one would have been seen.
bool IsJudgement(const CaseRun::Line& line) {
  return line.verdict() != "unspecified" && line.verdict() != "skipped";
}

}  // namespace

bool Judged(const CaseRun& run, const std::vector<std::string>& kernels) {
  return std::any_of(
      run.lines().begin(), run.lines().end(), [&](const CaseRun::Line& line) {
        return IsJudgement(line) && std::find(kernels.begin(), kernels.end(),
                                              line.kernel()) != kernels.end();
      });
}

std::string WhyNotJudged(const CaseRun& run) {
  for (const CaseRun::Line& line : run.lines()) {
    if (IsJudgement(line) || line.detail().empty()) continue;
    return absl::StrCat("step ", line.step(), ", ", line.kernel(), " ",
                        line.verdict(), ": ", line.detail());
  }
  return "";
}

absl::StatusOr<Outcome> OutcomeOf(const CaseRun& run, const std::string& key,
                                  const std::string& kernel) {
  if (!run.error().empty()) return absl::UnavailableError(run.error());
  for (const Failure& failure : run.failures()) {
    if (Explains(failure, key)) return Outcome::kFails;
  }
  if (!run.failures().empty()) return Outcome::kFailsOtherwise;
  const bool judged =
      kernel.empty()
          ? std::any_of(run.lines().begin(), run.lines().end(), IsJudgement)
          : Judged(run, {kernel});
  if (judged) return Outcome::kPasses;
  const std::string why = WhyNotJudged(run);
  return absl::FailedPreconditionError(
      absl::StrCat("nothing", kernel.empty() ? "" : " of ", kernel,
                   " was judged", why.empty() ? "" : ": ", why));
}

}  // namespace mlafuzz
