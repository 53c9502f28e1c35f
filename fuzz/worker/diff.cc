#include "fuzz/worker/diff.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/token_layout.h"
#include "fuzz/worker/ulps.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

// First place where the byte strings differ, in words.
std::string FirstByte(const Bytes& a, const Bytes& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const std::size_t at = x - a.begin();
  std::size_t count = 0;
  for (std::size_t i = at; i < std::min(a.size(), b.size()); ++i) {
    count += a[i] != b[i];
  }
  if (x == a.end() || y == b.end()) {
    return absl::StrFormat("%d bytes against %d", a.size(), b.size());
  }
  return absl::StrFormat("byte %d is 0x%02x in a, 0x%02x in b; %d bytes differ",
                         at, *x, *y, count);
}

// What differs first in a step; `where` is a stable short name.
struct Difference {
  std::string where;
  std::string detail;
};

std::optional<Difference> CompareStep(const StepImage& step,
                                      const Bytes& pool_a, const Bytes& pool_b,
                                      const StepObservation& a,
                                      const StepObservation& b) {
  if (a.status != b.status) {
    return Difference{"status",
                      absl::StrCat("a: ", CallStatusName(a.status),
                                   a.message.empty() ? "" : " (", a.message,
                                   a.message.empty() ? "" : ")",
                                   "; b: ", CallStatusName(b.status),
                                   b.message.empty() ? "" : " (", b.message,
                                   b.message.empty() ? "" : ")")};
  }
  for (std::size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i) {
    if (a.outputs[i] == b.outputs[i]) continue;
    const char* name = TensorName(step.tensors[i].id);
    // In floating-point outputs how far apart says more than which bytes.
    const std::string ulps =
        UlpHistogram(step.tensors[i].dtype, a.outputs[i], b.outputs[i]);
    return Difference{
        name, absl::StrCat(
                  name, ": ",
                  ulps.empty() ? FirstByte(a.outputs[i], b.outputs[i]) : ulps)};
  }
  if (pool_a != pool_b) {
    return Difference{"pool",
                      absl::StrCat("pool: ", FirstByte(pool_a, pool_b))};
  }
  return std::nullopt;
}

// Of a side to which the case was not sent, or that has no kernel for a step.
class LeftOut {
 public:
  explicit LeftOut(DiffResult& result) : result_(result) {}

  void Case(std::size_t side, const CaseResult& result) {
    bool any = false;
    for (const Check& check : result.checks) {
      if (check.verdict != Verdict::kUnspecified) continue;
      Add(side,
          absl::StrCat(Name(side), " does not take the case: step ", check.step,
                       ", ", KernelName(check.kernel), ": ", check.detail));
      any = true;
    }
    if (!any) Add(side, absl::StrCat(Name(side), " was not sent the case"));
  }

  void Step(std::size_t side, std::size_t step, Kernel kernel) {
    Add(side, absl::StrCat(Name(side), " has no ", KernelName(kernel),
                           ": step ", step));
  }

 private:
  static const char* Name(std::size_t side) { return side == 0 ? "a" : "b"; }

  void Add(std::size_t side, std::string why) {
    if (result_.not_taken[side].empty()) result_.not_taken[side] = why;
    result_.not_compared.push_back(std::move(why));
  }

  DiffResult& result_;
};

bool CallsAnything(const CaseImage& image) {
  return std::any_of(image.steps.begin(), image.steps.end(),
                     [](const StepImage& step) { return !step.is_patch; });
}

bool Passes(const CaseResult& result, int step) {
  return std::none_of(result.checks.begin(), result.checks.end(),
                      [step](const Check& check) {
                        return check.step == step && IsFailure(check.verdict);
                      });
}

void AddDecode(const StepImage& step, const StepObservation& a,
               const StepObservation& b, DiffResult& result) {
  if (step.kernel != Kernel::kDecode || a.status != CallStatus::kOk ||
      b.status != CallStatus::kOk) {
    return;
  }
  for (std::size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    if (!tensor.output) continue;
    UlpCounts& sum = result.decodes[tensor.id == TensorId::kLse ? 1 : 0];
    const UlpCounts more = CountUlps(tensor.dtype, a.outputs[i], b.outputs[i]);
    for (std::size_t k = 0; k < UlpCounts::kBuckets; ++k) {
      sum.counts[k] += more.counts[k];
    }
    sum.largest = std::max(sum.largest, more.largest);
  }
}

// "a passes, b fails writer-row (...)".
std::string OracleSays(const char* side, const CaseResult& result, int step) {
  for (const Check& check : result.checks) {
    if (check.step == step && IsFailure(check.verdict)) {
      return absl::StrCat(side, " fails ", check.property, " (", check.detail,
                          ")");
    }
  }
  return absl::StrCat(side, " passes");
}

std::string* NameOf(Kernel kernel, Targets& targets) {
  switch (kernel) {
    case Kernel::kWriter:
      return targets.mutable_writer();
    case Kernel::kGather:
      return targets.mutable_gather();
    case Kernel::kConvert:
      return targets.mutable_convert();
    case Kernel::kDecode:
      return targets.mutable_decode();
  }
  return nullptr;
}

// One kernel for both sides wherever `compared` does not ask for two.
absl::Status ShareTheOthers(
    const std::array<bool, kAllKernels.size()>& compared, Targets& a,
    Targets& b) {
  if (std::find(compared.begin(), compared.end(), false) == compared.end()) {
    return absl::OkStatus();
  }
  const auto first = MakeTargets(a), second = MakeTargets(b);
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  for (const Kernel kernel : kAllKernels) {
    if (compared[static_cast<std::size_t>(kernel)]) continue;
    const Target* const x = first->For(kernel);
    const Target* const y = second->For(kernel);
    if (x == nullptr || y == nullptr ||
        TokenLayoutOf(x->contract().layout()).layout !=
            TokenLayoutOf(y->contract().layout()).layout) {
      continue;
    }
    std::string& of_a = *NameOf(kernel, a);
    std::string& of_b = *NameOf(kernel, b);
    const std::string name_a = of_a.empty() ? a.all() : of_a;
    const std::string name_b = of_b.empty() ? b.all() : of_b;
    if (IsOnDevice(name_a) != IsOnDevice(name_b)) continue;
    if (x->Implements(kernel)) {
      of_b = name_a;
    } else if (y->Implements(kernel)) {
      of_a = name_b;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiffPair>> DiffPair::Create(
    const Targets& a, const Targets& b,
    const std::vector<std::string>& kernels) {
  auto pair = absl::WrapUnique(new DiffPair);
  for (const Kernel kernel : kAllKernels) {
    pair->compared_[static_cast<std::size_t>(kernel)] =
        kernels.empty() || std::find(kernels.begin(), kernels.end(),
                                     KernelName(kernel)) != kernels.end();
  }
  Targets of_a = a, of_b = b;
  if (absl::Status s = ShareTheOthers(pair->compared_, of_a, of_b); !s.ok()) {
    return s;
  }
  auto first = Session::Create(of_a);
  if (!first.ok()) return first.status();
  pair->a_ = *std::move(first);
  auto second = Session::Create(of_b);
  if (!second.ok()) return second.status();
  pair->b_ = *std::move(second);
  return pair;
}

absl::StatusOr<DiffResult> DiffPair::Compare(const Case& c,
                                             const Options& options) {
  DiffResult result;
  const CheckOptions plain;
  if (absl::Status s = a_->checker().CheckCase(c, plain, &result.a); !s.ok()) {
    return s;
  }
  if (absl::Status s = b_->checker().CheckCase(c, plain, &result.b); !s.ok()) {
    return s;
  }
  const auto& a = result.a.observation.steps;
  const auto& b = result.b.observation.steps;
  LeftOut left_out(result);
  if (!CallsAnything(result.a.image)) {
    result.not_compared.push_back("the case calls no kernel");
    return result;
  }
  // A case that is unspecified for either was not sent and has no steps.
  if (a.empty() || b.empty()) {
    if (a.empty()) left_out.Case(0, result.a);
    if (b.empty()) left_out.Case(1, result.b);
    return result;
  }
  const Bytes* pool_a = &result.a.image.pool.bytes;
  const Bytes* pool_b = &result.b.image.pool.bytes;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].pool.has_value()) pool_a = &*a[i].pool;
    if (b[i].pool.has_value()) pool_b = &*b[i].pool;
    const StepImage& step = result.a.image.steps[i];
    if (a[i].status == CallStatus::kNotImplemented ||
        b[i].status == CallStatus::kNotImplemented) {
      for (std::size_t side = 0; side < 2; ++side) {
        if ((side == 0 ? a : b)[i].status == CallStatus::kNotImplemented) {
          left_out.Step(side, i, step.kernel);
        }
      }
      // Pools that one side wrote and the other did not are no two answers to
      // one call, nor is what comes of reading them.
      if (step.kernel == Kernel::kWriter) return result;
      continue;
    }
    const auto difference = CompareStep(step, *pool_a, *pool_b, a[i], b[i]);
    if (!step.is_patch && !IsCompared(step.kernel)) {
      // Of a kernel that nobody asked about: no finding, and what is read of
      // two pools is no two answers to one call.
      if (*pool_a == *pool_b) continue;
      result.not_compared.push_back(absl::StrCat(
          "step ", i, ", ", KernelName(step.kernel),
          ": is not asked about (--kernels), and left two pools: nothing "
          "behind it is compared"));
      return result;
    }
    if (!step.is_patch) ++result.compared;
    AddDecode(step, a[i], b[i], result);
    if (!difference.has_value()) continue;
    if (options.within_bounds && step.kernel == Kernel::kDecode &&
        a[i].status == b[i].status && *pool_a == *pool_b &&
        Passes(result.a, static_cast<int>(i)) &&
        Passes(result.b, static_cast<int>(i))) {
      continue;
    }
    Failure& failure = result.failure;
    failure.set_kernel(KernelName(step.kernel));
    failure.set_property("difference");
    failure.set_verdict("fail");
    failure.set_step(i);
    failure.set_detail(difference->detail);
    failure.set_key(
        absl::StrCat(failure.kernel(), "/difference/", difference->where));
    failure.set_cause(absl::StrCat("a and b differ in ", difference->where));
    if (options.with_oracle) {
      const int at = static_cast<int>(i);
      const std::string says = absl::StrCat(OracleSays("a", result.a, at), "; ",
                                            OracleSays("b", result.b, at));
      failure.set_cause(absl::StrCat(failure.cause(), "; oracle: ", says));
      for (CaseResult* side : {&result.a, &result.b}) {
        CaseChecker& checker =
            side == &result.a ? a_->checker() : b_->checker();
        for (const Check& check : side->checks) {
          if (check.step != at || !IsFailure(check.verdict)) continue;
          const Diagnosis why = checker.Why(*side, check);
          failure.set_field(why.field);
          failure.set_key(absl::StrCat(failure.key(), "/", why.key));
          failure.set_cause(absl::StrCat(failure.cause(), ". ", why.cause));
          break;
        }
      }
    }
    return result;
  }
  if (result.compared == 0 && result.not_compared.empty()) {
    result.not_compared.push_back(
        "the case calls none of the kernels that are compared");
  }
  return result;
}

std::array<std::uint64_t, kAllKernels.size()> DiffPair::executions() const {
  auto sum = a_->executions();
  const auto b = b_->executions();
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += b[k];
  return sum;
}

void CountComparison(const DiffResult& result, WorkerStatus& status) {
  if (result.compared > 0) {
    status.Add(status.compared);
    return;
  }
  status.Add(status.not_compared);
  for (std::size_t side = 0; side < result.not_taken.size(); ++side) {
    const std::string& why = result.not_taken[side];
    if (why.empty()) continue;
    status.Add(status.not_taken[side]);
    status.NoteNotTaken(side, why);
  }
}

}  // namespace mlafuzz
