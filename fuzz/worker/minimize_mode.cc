#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/diff.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/minimize_log.h"
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
      auto pair = DiffPair::Create(
          request.targets(), request.other(),
          {request.kernels().begin(), request.kernels().end()});
      if (!pair.ok()) return pair.status();
      same->pair_ = *std::move(pair);
    } else {
      auto session = Session::Create(request.targets());
      if (!session.ok()) return session.status();
      same->session_ = *std::move(session);
    }
    return same;
  }

  // Failures by other causes, the first of each, a few.
  const std::vector<MinimizeResult::Other>& others() const { return others_; }

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
      Diagnosis why = checker.Why(result, check);
      if (!Gives(check, why)) {
        // One of two faults that show in one call. Of a case that began alone
        // no second one is taken along.
        const auto both = properties_.empty() || two_
                              ? TwoRulesOf(checker, result, check, why)
                              : std::nullopt;
        bool given = false;
        for (std::size_t i = 0; both.has_value() && !given && i < 2; ++i) {
          given = Gives(check, (*both)[i]);
          if (given) why = (*both)[i];
        }
        if (!given) {
          NoteOther(c, check, why);
          continue;
        }
        if (properties_.empty()) two_ = true;
      }
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
  void NoteOther(const Case& c, const Check& check, const Diagnosis& why) {
    constexpr std::size_t kMost = 8;
    const std::string key = CauseKey(check, why);
    if (others_.size() >= kMost || IsRelation(check.property) ||
        std::any_of(others_.begin(), others_.end(),
                    [&key](const MinimizeResult::Other& other) {
                      return other.failure().key() == key;
                    })) {
      return;
    }
    MinimizeResult::Other& other = others_.emplace_back();
    other.set_case_binary(CanonicalBinary(c));
    Failure& failure = *other.mutable_failure();
    failure.set_kernel(KernelName(BlamedKernel(check, why)));
    failure.set_property(check.property);
    failure.set_verdict(VerdictName(check.verdict));
    failure.set_key(key);
    failure.set_field(why.field);
    for (const std::string& other_key : why.also) {
      failure.add_also(absl::StrCat(failure.kernel(), "/", other_key));
    }
    failure.set_cause(why.cause);
    failure.set_detail(check.detail);
  }

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
          return absl::StrCat(KernelName(BlamedKernel(check, why)), "/", key) ==
                 cause_;
        });
  }

  std::string cause_;
  bool first_ = false;
  bool exact_ = false;  // of the first case that failed
  bool two_ = false;    // the first case shows another fault as well
  DiffPair::Options options_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<DiffPair> pair_;
  std::set<std::string> properties_;
  bool needs_relations_ = false;
  std::vector<MinimizeResult::Other> others_;
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
  std::unique_ptr<MinimizeLog> log;
  if (!request.minimize_log().empty()) {
    auto opened = MinimizeLog::Open(request.minimize_log(), NumberOf(request));
    if (!opened.ok()) return opened.status();
    log = *std::move(opened);
  }
  absl::Status logged = absl::OkStatus();
  std::uint64_t best = request.cases(0).size();
  const auto still_fails = [&](const Case& c) {
    const std::uint64_t hash = CaseHash(c);
    if (log != nullptr) {
      if (const auto known = log->Find(hash); known.has_value()) return *known;
    }
    const std::string binary = CanonicalBinary(c);
    bool fails = false;
    // One that fails now and then has several turns.
    for (std::uint32_t i = 0; i < std::max(1u, request.repeat()) && !fails;
         ++i) {
      status.Begin(binary);
      fails = (**same)(c);
      status.End();
      status.Add(status.cases);
    }
    if (fails) best = std::min<std::uint64_t>(best, binary.size());
    if (log != nullptr && logged.ok()) logged = log->Append(hash, fails, best);
    return fails;
  };
  // Not from the log: the cause's own properties are learned from it.
  bool reproduced = false;
  for (std::uint32_t i = 0; i < std::max(1u, request.repeat()) && !reproduced;
       ++i) {
    reproduced = (**same)(*start);
  }
  result.set_reproduced(reproduced);
  if (result.reproduced()) {
    MinimizeOptions options;
    if (request.seconds() > 0) options.max_seconds = request.seconds();
    const auto begin = std::chrono::steady_clock::now();
    const Case small = Minimize(*start, options, still_fails,
                                [&result](const MinimizeProgress& progress) {
                                  result.set_tries(progress.tries);
                                });
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    result.set_exhausted(result.tries() >= options.max_tries ||
                         took.count() >= options.max_seconds);
    result.set_case_binary(CanonicalBinary(small));
    for (const MinimizeResult::Other& other : (*same)->others()) {
      *result.add_others() = other;
    }
  }
  if (!logged.ok()) return logged;
  return WriteFileAtomically(absl::StrCat(request.out(), "/minimize.result"),
                             result.SerializeAsString());
}

}  // namespace mlafuzz
