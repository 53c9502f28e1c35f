#include "oracle/judge.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "oracle/damage.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/expect.h"
#include "oracle/judge_ending.h"
#include "oracle/pool_history.h"
#include "oracle/tensor_view.h"
#include "oracle/validity.h"

// How a step is judged:
//   1. A call that the target lacks is skipped.
//   2. The case is classified under the contract; what is unspecified is not
//      judged.
//   3. A process that died, hung or spoke nonsense is its own verdict.
//   4. An invalid call must be refused with a reason and without a trace.
//   5. A valid call must be taken, and leave exactly the expected bytes. Only
//      if they differ is it worked out what the wrong ones belong to.
// A decode is judged the same way by oracle/decode, within bounds instead of
// bytes.
namespace mlafuzz {
namespace {

using oracle::AfterImage;
using oracle::Damage;
using oracle::Region;

const char* PrincipalProperty(Kernel kernel) {
  switch (kernel) {
    case Kernel::kWriter:
      return property::kWriterRow;
    case Kernel::kGather:
      return property::kGather;
    case Kernel::kConvert:
      return property::kConvert;
    case Kernel::kDecode:
      return property::kDecodeOut;
  }
  return "?";
}

class StepJudge {
 public:
  StepJudge(const Contract& contract, const CaseImage& image, int step,
            const oracle::PoolHistory& history, const StepObservation& observed,
            std::optional<std::int64_t> as_expected, std::vector<Check>* checks)
      : contract_(contract),
        image_(image),
        index_(step),
        step_(image.steps[static_cast<std::size_t>(step)]),
        before_(history.before()),
        observed_(observed),
        as_expected_(as_expected),
        ending_(step, step_.kernel, observed, checks) {
    // Of what is known to match nobody needs the bytes.
    well_formed_ =
        as_expected.has_value() ||
        oracle::AfterImageOf(step_, observed, history.after(), &after_);
  }

  // Whether later steps still mean what they say.
  bool Run() {
    if (observed_.status == CallStatus::kNotImplemented) {
      Add(PrincipalProperty(step_.kernel), Verdict::kSkipped,
          oracle::WhySkipped(step_.kernel, observed_));
      return true;
    }
    validity_ = Classify(contract_, image_, index_);
    if (validity_.validity == Validity::kUnspecified) {
      Add(PrincipalProperty(step_.kernel), Verdict::kUnspecified,
          absl::StrCat(validity_.rule, ": ", validity_.reason));
      return !MayHaveDamagedPool();
    }
    if (ending_.EndedAbnormally()) return true;
    if (!well_formed_) {
      ending_.Malformed();
    } else if (!ending_.EndedWithoutResult(
                   validity_, [this] { return TraceOfRefusedCall(); })) {
      JudgeResult();
    }
    return true;
  }

 private:
  void Add(const char* property, Verdict verdict, std::string detail = "") {
    ending_.Add(property, verdict, std::move(detail));
  }

  // A writer without a promise may have stored anywhere, as may anything that
  // did not come to a proper end.
  bool MayHaveDamagedPool() const {
    switch (observed_.status) {
      case CallStatus::kRefused:
      case CallStatus::kNotImplemented:
        return false;
      case CallStatus::kOk:
        return step_.kernel == Kernel::kWriter || !observed_.strays.empty() ||
               observed_.pool.has_value();
      default:
        // An empty launch that fails leaves no trace.
        return validity_.rule != "writer.zero_tokens";
    }
  }

  // A refused call leaves the pool and all outputs as they were.
  std::string TraceOfRefusedCall() const {
    std::int64_t changed = 0;
    std::string where;
    const auto compare = [&](absl::Span<const std::uint8_t> was,
                             absl::Span<const std::uint8_t> is,
                             const char* name) {
      if (was == is) return;
      for (std::size_t i = 0; i < was.size(); ++i) {
        if (was[i] == is[i]) continue;
        if (changed++ == 0) where = absl::StrCat(name, " byte ", i);
      }
    };
    compare(before_, after_.pool, "pool");
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      if (!step_.tensors[i].output) continue;
      compare(step_.tensors[i].bytes, after_.outputs[i],
              TensorName(step_.tensors[i].id));
    }
    return changed == 0 ? "" : absl::StrCat(changed, " bytes, first ", where);
  }

  // ---- valid and boundary calls

  void JudgeResult() {
    Expectation expected;
    Damage damage;
    if (as_expected_.has_value()) {
      expected.written = *as_expected_;
    } else {
      expected = Expect(contract_, image_, index_, before_);
      if (!oracle::Matches(contract_, image_, index_, before_, expected,
                           after_)) {
        damage = oracle::Assess(contract_, image_, index_, before_, expected,
                                after_);
      }
    }
    // A step with nothing to do says nothing, unless another rule would have
    // done something.
    const Verdict pass = expected.written == 0 && !OtherRulesAct()
                             ? Verdict::kUninformative
                             : Verdict::kPass;
    const Verdict value_pass =
        expected.written == 0 ? Verdict::kUninformative : pass;
    const auto judge = [&](const char* property, Verdict otherwise,
                           std::initializer_list<const Region*> regions,
                           const char* unit) {
      std::string detail;
      for (const Region* region : regions) {
        if (!*region) continue;
        absl::StrAppend(&detail, detail.empty() ? "" : "; ",
                        Describe(expected, *region), " (", region->count, " ",
                        unit, ")");
      }
      if (detail.empty()) {
        Add(property, otherwise);
      } else {
        Add(property, Verdict::kFail, std::move(detail));
      }
    };
    switch (step_.kernel) {
      case Kernel::kWriter: {
        judge(property::kWriterRow, value_pass,
              {&damage.codes, &damage.scales, &damage.rope, &damage.padding},
              "bytes");
        const Tensor* k_pe = step_.Find(TensorId::kKPe);
        if (image_.pool.layout == FP8_DS_MLA &&
            (k_pe == nullptr || k_pe->shape[1] == 0)) {
          judge(property::kNopeTail, value_pass, {&damage.tail}, "bytes");
        }
        judge(property::kSlots, pass,
              {&damage.untouched_rows, &damage.skipped_rows}, "rows");
        break;
      }
      case Kernel::kGather:
        if (damage.missing_rows) {
          judge(property::kGather, value_pass, {&damage.missing_rows},
                "rows never written");
        } else {
          judge(property::kGather, value_pass,
                {&damage.values, &damage.gather_rope, &damage.gather_scales},
                "values");
        }
        if (image_.pool.layout == FP8_DS_MLA && step_.step != nullptr &&
            step_.step->gather().nope()) {
          judge(property::kGatherTail, value_pass, {&damage.gather_tail},
                "values");
        }
        break;
      case Kernel::kConvert:
        judge(property::kConvert, value_pass, {&damage.indices}, "indices");
        if (step_.Find(TensorId::kValidCount) != nullptr) {
          judge(property::kValidCount, value_pass, {&damage.counts}, "counts");
        }
        break;
      case Kernel::kDecode:
        break;
    }
    judge(property::kWrittenSet, pass, {&damage.foreign}, "bytes");
    ending_.JudgeMemory(pass);
    Add(property::kLanes, pass);
    Add(property::kRefusal, pass);
  }

  // Whether a kernel with another rule would leave a trace of this step.
  bool OtherRulesAct() const {
    if (step_.kernel == Kernel::kWriter) {
      // Skipped slots are a rule at work; without tokens there is none.
      return oracle::Length(step_.Find(TensorId::kSlotMapping)) > 0;
    }
    return !InformativeFields(contract_, image_, index_, before_).empty();
  }

  std::string Describe(const Expectation& expected,
                       const Region& region) const {
    return oracle::DescribeFirst(image_, index_, before_, expected, after_,
                                 region);
  }

  const Contract& contract_;
  const CaseImage& image_;
  const int index_;
  const StepImage& step_;
  const absl::Span<const std::uint8_t> before_;
  const StepObservation& observed_;
  // Known to match; of the expectation: `written`.
  const std::optional<std::int64_t> as_expected_;
  oracle::EndingJudge ending_;
  AfterImage after_;
  bool well_formed_ = false;
  StepValidity validity_;
};

bool EndsTheCase(CallStatus status) {
  switch (status) {
    case CallStatus::kCrash:
    case CallStatus::kHang:
    case CallStatus::kOutOfMemory:
    case CallStatus::kProtocol:
      return true;
    default:
      return false;
  }
}

// `known`: of steps that are known to be as expected; empty: none is.
std::vector<Check> JudgeSteps(const Contracts& contracts,
                              const CaseImage& image,
                              const Observation& observation,
                              absl::Span<const KnownStep> known) {
  std::vector<Check> checks;
  checks.reserve(8 * image.steps.size());
  oracle::PoolHistory history(image, observation);
  // The rule that a step broke whose damage is nobody's fault.
  std::string damaged_by;
  for (std::size_t i = 0; i < image.steps.size(); ++i) {
    const StepImage& step = image.steps[i];
    const int index = static_cast<int>(i);
    if (i >= observation.steps.size()) {
      checks.push_back({.step = index,
                        .kernel = step.kernel,
                        .property = property::kMemory,
                        .verdict = Verdict::kProtocol,
                        .detail = "the step was not observed"});
      break;
    }
    const StepObservation& observed = observation.steps[i];
    if (step.is_patch) {
      if (history.patch_lost()) {
        checks.push_back({.step = index,
                          .kernel = step.kernel,
                          .property = property::kWrittenSet,
                          .verdict = Verdict::kProtocol,
                          .detail = "the patch is not what the pool holds"});
      }
    } else if (!damaged_by.empty()) {
      checks.push_back({.step = index,
                        .kernel = step.kernel,
                        .property = PrincipalProperty(step.kernel),
                        .verdict = Verdict::kUnspecified,
                        .detail = absl::StrCat("after ", damaged_by)});
    } else {
      const Contract& contract =
          *contracts[static_cast<std::size_t>(step.kernel)];
      const bool goes_on =
          step.kernel == Kernel::kDecode
              ? JudgeDecode(contract, image, index, history.before(), observed,
                            &checks,
                            i < known.size() && known[i].decode.has_value()
                                ? &*known[i].decode
                                : nullptr)
              : StepJudge(contract, image, index, history, observed,
                          i < known.size() ? std::optional(known[i].written)
                                           : std::nullopt,
                          &checks)
                    .Run();
      if (!goes_on) damaged_by = checks.back().detail;
    }
    if (EndsTheCase(observed.status)) break;
    history.Advance();
  }
  return checks;
}

}  // namespace

std::vector<Check> Judge(const Contracts& contracts, const CaseImage& image,
                         const Observation& observation) {
  return JudgeSteps(contracts, image, observation, {});
}

std::vector<Check> JudgeAsExpected(const Contracts& contracts,
                                   const CaseImage& image,
                                   const Observation& observation,
                                   absl::Span<const KnownStep> known) {
  return JudgeSteps(contracts, image, observation, known);
}

}  // namespace mlafuzz
