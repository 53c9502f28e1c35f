#include "fuzz/worker/diff.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/worker/ulps.h"

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
  // One of the two has no such kernel: there is nothing to compare.
  if (a.status == CallStatus::kNotImplemented ||
      b.status == CallStatus::kNotImplemented) {
    return std::nullopt;
  }
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

}  // namespace

absl::StatusOr<std::unique_ptr<DiffPair>> DiffPair::Create(const Targets& a,
                                                           const Targets& b) {
  auto pair = absl::WrapUnique(new DiffPair);
  auto first = Session::Create(a);
  if (!first.ok()) return first.status();
  pair->a_ = *std::move(first);
  auto second = Session::Create(b);
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
  // A case that is unspecified for either was not sent and has no steps.
  const Bytes* pool_a = &result.a.image.pool.bytes;
  const Bytes* pool_b = &result.b.image.pool.bytes;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].pool.has_value()) pool_a = &*a[i].pool;
    if (b[i].pool.has_value()) pool_b = &*b[i].pool;
    const StepImage& step = result.a.image.steps[i];
    const auto difference = CompareStep(step, *pool_a, *pool_b, a[i], b[i]);
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
  return result;
}

std::array<std::uint64_t, kAllKernels.size()> DiffPair::executions() const {
  auto sum = a_->executions();
  const auto b = b_->executions();
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += b[k];
  return sum;
}

}  // namespace mlafuzz
