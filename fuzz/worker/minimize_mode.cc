#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/diff.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/run_mode.h"
#include "fuzz/worker/session.h"
#include "properties/minimize/minimize.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// Whether the case fails by the wanted cause.
class SameCause {
 public:
  static absl::StatusOr<std::unique_ptr<SameCause>> Create(
      const WorkRequest& request) {
    std::unique_ptr<SameCause> same(new SameCause);
    same->cause_ = request.cause();
    same->options_ = {.with_oracle = !request.no_oracle(),
                      .within_bounds = request.within_bounds()};
    if (request.diff()) {
      auto pair = DiffPair::Create(request.targets(), request.other());
      if (!pair.ok()) return pair.status();
      same->pair_ = *std::move(pair);
    } else {
      auto session = Session::Create(request.targets());
      if (!session.ok()) return session.status();
      same->session_ = *std::move(session);
    }
    return same;
  }

  bool operator()(const Case& c) {
    if (pair_ != nullptr) {
      const auto result = pair_->Compare(c, options_);
      return result.ok() && result->failure.key() == cause_;
    }
    CaseResult result;
    CaseChecker& checker = session_->checker();
    if (!checker.CheckCase(c, Options(c), &result).ok()) return false;
    for (const Check& check : result.checks) {
      if (!IsFailure(check.verdict)) continue;
      // Diagnosing costs more than the run: only checks that may be the one.
      if (!properties_.empty() && properties_.count(check.property) == 0) {
        continue;
      }
      const Diagnosis why = checker.Why(result, check);
      if (!Gives(check, why)) continue;
      // A case whose fault shows within the tensors is not traded for one that
      // depends on what lies beside them.
      if (properties_.empty()) exact_ = why.exact;
      if (why.exact || !exact_) {
        properties_.insert(check.property);
        needs_relations_ |= IsRelation(check.property);
        return true;
      }
    }
    return false;
  }

 private:
  // Relations multiply the cost of a try: only for a cause that needs them,
  // known after the first (whole) case.
  CheckOptions Options(const Case& c) const {
    CheckOptions options = Session::ReplayOptions(c);
    if (!properties_.empty() && !needs_relations_) {
      options.all_relations = false;
    }
    return options;
  }

  // Whether the cause is the first that explains it, or, if the case to begin
  // with had a better one, any.
  bool Gives(const Check& check, const Diagnosis& why) {
    if (CauseKey(check, why) == cause_) {
      if (properties_.empty()) first_ = true;
      return true;
    }
    if (first_) return false;
    return std::any_of(
        why.also.begin(), why.also.end(), [&](const std::string& key) {
          return absl::StrCat(KernelName(check.kernel), "/", key) == cause_;
        });
  }

  std::string cause_;
  bool first_ = false;
  bool exact_ = false;  // of the first case that failed
  DiffPair::Options options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<DiffPair> pair_;
  std::set<std::string> properties_;
  bool needs_relations_ = false;
};

}  // namespace

absl::Status MinimizeCase(const WorkRequest& request, WorkerStatus& status) {
  MinimizeResult result;
  auto same = SameCause::Create(request);
  if (!same.ok()) return same.status();
  const absl::StatusOr<Case> start =
      request.cases_size() == 1
          ? ParseCaseBinary(request.cases(0))
          : absl::InvalidArgumentError("minimize takes one case");
  if (!start.ok()) return start.status();
  const auto still_fails = [&](const Case& c) {
    status.Begin(CanonicalBinary(c));
    const bool fails = (**same)(c);
    status.End();
    status.Add(status.cases);
    return fails;
  };
  result.set_reproduced(still_fails(*start));
  if (result.reproduced()) {
    MinimizeOptions options;
    if (request.seconds() > 0) options.max_seconds = request.seconds();
    const Case small = Minimize(*start, options, still_fails,
                                [&result](const MinimizeProgress& progress) {
                                  result.set_tries(progress.tries);
                                });
    result.set_case_binary(CanonicalBinary(small));
  }
  return WriteFileAtomically(absl::StrCat(request.out(), "/minimize.result"),
                             result.SerializeAsString());
}

}  // namespace mlafuzz
