#include "fuzz/worker/settle_mode.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "fuzz/mutator/mutator.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/session.h"
#include "fuzz/worker/settlement.h"
#include "oracle/decode/faults.h"
#include "oracle/judge.h"
#include "properties/choices.h"
#include "properties/fields.h"
#include "properties/generate_for.h"

namespace mlafuzz {
namespace {

// One cause is settled when so many further cases fail by it: more would only
// repeat what the first few said. A claim has to be heard longer
// (Settlement::kEnoughForClaim).
constexpr int kEnoughAlike = 4;
// A fault that so many cases do not show again is rare; its finding's own
// explanation stands.
constexpr int kEnoughForOne = 60;
// A rule that is only possible and explains none of so many cases is not it;
// one that explains some, and not enough of so many.
constexpr int kEnoughForPossible = 40;
constexpr int kEnoughForHalfProven = 120;
// Cases made for a claim fail by it whatever the fault is, if all that they
// show is NaN. So many others have to be heard: those that fail otherwise speak
// against it.
constexpr int kEnoughUnbidden = 12;

// "decode/qk.scale_rule=X" -> "qk.scale_rule=X".
absl::string_view WithoutKernel(absl::string_view cause) {
  const std::size_t slash = cause.find('/');
  return slash == absl::string_view::npos ? cause : cause.substr(slash + 1);
}

bool Testable(const std::string& cause) {
  return CanBeRuledOut(WithoutKernel(cause));
}

// Further cases: by turns made for a contract field among the causes, and
// changed a little from the finding's own. Some may be asked for that are made
// for nothing.
class Supply {
 public:
  Supply(const Case& own, const std::string& kernel, const TargetSet& targets,
         std::uint64_t seed)
      : own_(own), options_(OptionsFor(own, kernel, targets)), seed_(seed) {}

  Case Unbidden() {
    Choices choices(seed_ * 0x9e3779b97f4a7c15u + number_++);
    return GenerateCase(choices, options_);
  }

  Case Next(const CauseKeys& causes) {
    Choices choices(seed_ * 0x9e3779b97f4a7c15u + number_);
    const std::vector<int> fields = FieldsOf(causes);
    const int turn = number_++;
    if (turn % 3 == 2) {
      Case c = own_;
      if (turn % 2 == 0 && OfSplits(causes)) CutOtherwise(choices, c);
      const std::uint32_t times = 1 + choices.Below(3);
      for (std::uint32_t i = 0; i < times; ++i) {
        MutateCase(c, choices, options_);
      }
      return c;
    }
    if (fields.empty()) return GenerateCase(choices, options_);
    const int field = fields[static_cast<std::size_t>(made_++) % fields.size()];
    return GenerateFor(field, choices, options_);
  }

 private:
  static GeneratorOptions OptionsFor(const Case& own, const std::string& kernel,
                                     const TargetSet& targets) {
    std::vector<Kernel> tested;
    for (const Kernel one : kAllKernels) {
      if (kernel == KernelName(one)) tested.push_back(one);
    }
    GeneratorOptions options = GeneratorFor({&kernel, 1}, targets, tested);
    options.layout = TokenLayoutOf(own.pool().layout()).layout;
    return options;
  }

  // Whether some cause depends on where a row is cut into splits.
  static bool OfSplits(const CauseKeys& causes) {
    return std::any_of(causes.begin(), causes.end(),
                       [](const std::string& cause) {
                         return WithoutKernel(cause) == oracle::kSplitDropped ||
                                WithoutKernel(cause) == oracle::kMissingRescale;
                       });
  }
  // Other splits of the same keys tell a fault of splits from one of rows.
  static void CutOtherwise(Choices& choices, Case& c) {
    for (Step& step : *c.mutable_steps()) {
      if (step.has_decode())
        step.mutable_decode()->set_splits(choices.Below(9));
    }
  }

  // Numbers of the fields that cases can be made for, each once.
  std::vector<int> FieldsOf(const CauseKeys& causes) const {
    std::vector<int> fields;
    for (const std::string& cause : causes) {
      for (const absl::string_view part :
           absl::StrSplit(WithoutKernel(cause), '+')) {
        const int field =
            FieldNumber(std::string(part.substr(0, part.find('='))));
        if (field >= 0 && CanGenerateFor(field, options_.layout) &&
            std::find(fields.begin(), fields.end(), field) == fields.end()) {
          fields.push_back(field);
        }
      }
    }
    return fields;
  }

  const Case& own_;
  const GeneratorOptions options_;
  const std::uint64_t seed_;
  int number_ = 0;
  int made_ = 0;
};

class Settler {
 public:
  Settler(const WorkRequest& request, const Case& own, Session& session)
      : kernel_(KernelOf(request.explanations(0))),
        session_(session),
        settlement_(ExplanationsOf(request)),
        by_relation_(request.by_relation()) {
    for (const Step& step : own.steps()) {
      if (!step.has_decode()) continue;
      failing_width_ = std::max<std::int64_t>(failing_width_,
                                              step.decode().indices().width());
    }
    // What is only seen of a fault explains nothing that this one does not.
    for (const std::string& cause : request.other_findings()) {
      if (Testable(cause)) other_findings_.push_back(cause);
    }
  }

  static CauseKeys ExplanationsOf(const WorkRequest& request) {
    CauseKeys keys(request.explanations().begin(),
                   request.explanations().end());
    keys.possible.assign(request.possible().begin(), request.possible().end());
    return keys;
  }
  static std::string KernelOf(const std::string& cause) {
    return cause.substr(0, cause.find('/'));
  }
  const std::string& kernel() const { return kernel_; }
  CauseKeys Causes() const { return settlement_.Causes(Testable); }
  // What cases can tell more of: causes, and what may still become one.
  CauseKeys Candidates() const {
    CauseKeys all = Causes();
    const CauseKeys& more = settlement_.unproven();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Whether the claim rests on cases that were made for it and say little.
  bool WantsUnbidden() const {
    return settlement_.SaysLittle() && Testable(Causes()[0]);
  }
  void CountUnbidden() { ++unbidden_; }

  // Whether more cases could say more.
  bool Settled(int heard) const {
    const CauseKeys causes = Causes();
    if (causes.size() > 1) return false;
    if (!settlement_.unproven().empty() &&
        heard < (settlement_.IsHalfProven() ? kEnoughForHalfProven
                                            : kEnoughForPossible)) {
      return false;
    }
    if (WantsUnbidden() && unbidden_ < kEnoughUnbidden) return false;
    // Who reads of a relation wants to see the kernel itself go wrong.
    if (by_relation_) return Showing(causes[0]) != nullptr;
    return settlement_.alike() >= (Testable(causes[0])
                                       ? Settlement::kEnoughForClaim
                                       : kEnoughAlike) ||
           heard >= kEnoughForOne;
  }

  void Hear(const Case& c, const std::string& canonical) {
    CaseResult result;
    CaseChecker& checker = session_.checker();
    if (!checker.CheckCase(c, CheckOptions(), &result).ok()) return;
    // The first failing step alone: what it leaves behind may spoil others.
    for (const auto& checks : FailuresBySteps(result)) {
      if (!IsOfKernel(*checks[0])) continue;
      CauseKeys keys;
      std::vector<Failure> failures;
      std::vector<const Check*> of;  // one a failure
      bool died = false;
      for (const Check* check : checks) {
        for (Failure& failure :
             DescribeFailure(checker, result, *check, /*explain=*/false)) {
          const CauseKeys more = KeysOf(failure);
          keys.insert(keys.end(), more.begin(), more.end());
          keys.possible.insert(keys.possible.end(), more.possible.begin(),
                               more.possible.end());
          failures.push_back(std::move(failure));
          of.push_back(check);
        }
        died |= check->verdict == Verdict::kCrash;
      }
      if (IsOfAnotherFinding(keys)) return;
      const bool says_little =
          std::all_of(failures.begin(), failures.end(),
                      [](const Failure& f) { return f.says_little(); });
      if (settlement_.Fails(keys, says_little)) {
        const std::int64_t width = WidthOf(result, checks[0]->step);
        if (width > 0) failing_width_ = std::min(failing_width_, width);
        for (std::size_t i = 0; i < failures.size(); ++i) {
          if (!IsWorthKeeping(failures[i])) continue;
          failures[i].set_explanation(Explain(checker.contracts(), result.image,
                                              result.observation, *of[i]));
          Keep(failures[i], canonical);
        }
      }
      // Where a claim explains the death, others that may are none the
      // likelier.
      if (died && std::none_of(keys.begin(), keys.end(), Testable)) {
        for (const std::string& cause : keys.possible) settlement_.Dies(cause);
      }
      return;
    }
    std::set<int> passed;
    for (const Check& check : result.checks) {
      if (check.verdict == Verdict::kPass &&
          KernelName(check.kernel) == kernel_) {
        passed.insert(check.step);
      }
    }
    for (const int step : passed) {
      for (const std::string& cause : settlement_.left()) {
        if (IsTooNarrow(result, step, cause)) continue;
        if (RulesOut(checker.contracts(), result.image, result.observation,
                     step, WithoutKernel(cause))) {
          settlement_.RuledOut(cause);
        }
      }
      const CauseKeys unproven = settlement_.unproven();
      for (const std::string& cause : unproven) {
        if (RulesOut(checker.contracts(), result.image, result.observation,
                     step, WithoutKernel(cause))) {
          settlement_.IsWrong(cause);
        } else {
          settlement_.Lives(cause);
        }
      }
    }
  }

  SettleResult Result(int heard) const {
    SettleResult result;
    const CauseKeys causes = Causes();
    result.mutable_causes()->Assign(causes.begin(), causes.end());
    result.set_heard(static_cast<std::uint64_t>(heard));
    result.set_alike(static_cast<std::uint64_t>(settlement_.alike()));
    result.set_others(static_cast<std::uint64_t>(settlement_.others()));
    int contradicted = settlement_.contradicted(causes[0]);
    for (const std::string& cause : causes) {
      contradicted = std::min(contradicted, settlement_.contradicted(cause));
    }
    result.set_contradicted(static_cast<std::uint64_t>(contradicted));
    result.set_withdrawn(settlement_.IsDoubtful() &&
                         std::all_of(causes.begin(), causes.end(), Testable));
    if (const Telling* best = Showing(causes[0]); best != nullptr) {
      *result.mutable_failure() = best->failure;
      result.set_case_binary(best->case_binary);
    }
    return result;
  }

 private:
  struct Telling {
    Failure failure;
    std::string case_binary;
  };

  // Whether a failure is the kernel's: of its own call, or of one that a
  // relation of another kernel made.
  bool IsOfKernel(const Check& check) const {
    return KernelName(check.why == nullptr
                          ? check.kernel
                          : BlamedKernel(check, *check.why)) == kernel_;
  }

  // Lanes of a decode's index row; 0 of other kernels.
  static std::int64_t WidthOf(const CaseResult& result, int step) {
    const Tensor* indices =
        result.image.steps[static_cast<std::size_t>(step)].Find(
            TensorId::kIndices);
    return indices == nullptr ? 0 : indices->shape[1];
  }
  // Where rows that failed are cut may lie behind the end of this one.
  bool IsTooNarrow(const CaseResult& result, int step,
                   const std::string& cause) const {
    return WithoutKernel(cause) == oracle::kRowTruncated &&
           WidthOf(result, step) < failing_width_;
  }

  // Whether a claim of another finding explains what none of this one's does.
  bool IsOfAnotherFinding(const CauseKeys& keys) const {
    const auto explains = [&](const std::string& cause) {
      return std::find(keys.begin(), keys.end(), cause) != keys.end();
    };
    const CauseKeys own = Candidates();
    return std::none_of(own.begin(), own.end(), explains) &&
           std::any_of(other_findings_.begin(), other_findings_.end(),
                       explains);
  }

  // The case that shows the cause first; null if none does.
  const Telling* Showing(const std::string& cause) const {
    for (const Telling& t : telling_) {
      if (t.failure.key() == cause) return &t;
    }
    return nullptr;
  }

  // One case a key is enough: one that shows it without another fault, of
  // those the one that leaves fewest others.
  bool IsWorthKeeping(const Failure& failure) const {
    const Telling* const known = Showing(failure.key());
    const auto order = [](const Failure& f) {
      return std::pair(!f.beside().empty(), f.also_size());
    };
    return known == nullptr || order(failure) < order(known->failure);
  }

  void Keep(const Failure& failure, const std::string& case_binary) {
    const auto known = std::find_if(
        telling_.begin(), telling_.end(),
        [&](const Telling& t) { return t.failure.key() == failure.key(); });
    if (known == telling_.end()) {
      telling_.push_back({failure, case_binary});
    } else {
      *known = {failure, case_binary};
    }
  }

  const std::string kernel_;
  Session& session_;
  Settlement settlement_;
  std::vector<std::string> other_findings_;
  const bool by_relation_;
  int unbidden_ = 0;
  std::int64_t failing_width_ = 0;  // the least of a decode, where known
  std::vector<Telling> telling_;    // one a key
};

}  // namespace

absl::Status SettleCause(const WorkRequest& request, WorkerStatus& status) {
  if (request.cases_size() != 1 || request.explanations_size() == 0) {
    return absl::InvalidArgumentError(
        "settle takes one case and what explains it");
  }
  const absl::StatusOr<Case> own = ParseCaseBinary(request.cases(0));
  if (!own.ok()) return own.status();
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  Settler settler(request, *own, **session);
  Supply supply(*own, settler.kernel(), (*session)->targets(), request.seed());
  const auto start = std::chrono::steady_clock::now();
  for (int heard = 0;; ++heard) {
    const absl::Status written =
        WriteFileAtomically(absl::StrCat(request.out(), "/settle.result"),
                            settler.Result(heard).SerializeAsString());
    if (!written.ok()) return written;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (status.stop != 0 || heard >= kMostSettlingCases ||
        (request.seconds() > 0 && seconds >= request.seconds()) ||
        settler.Settled(heard)) {
      return absl::OkStatus();
    }
    const bool unbidden = settler.WantsUnbidden() && heard % 2 == 1;
    if (unbidden) settler.CountUnbidden();
    const Case c =
        unbidden ? supply.Unbidden() : supply.Next(settler.Candidates());
    const std::string canonical = CanonicalBinary(c);
    status.Begin(canonical);
    settler.Hear(c, canonical);
    status.End();
    status.Add(status.cases);
  }
}

}  // namespace mlafuzz
