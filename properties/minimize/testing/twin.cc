#include "properties/minimize/testing/twin.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "gtest/gtest.h"
#include "properties/checker.h"

namespace mlafuzz {
namespace {

// Generated cases that are looked at, at most.
constexpr int kMostSeeds = 50000;

}  // namespace

Twin::Twin(const std::string& name) : executor_(MakeHostExecutor()) {
  absl::StatusOr<TargetSet> set = MakeTargetSet(name);
  EXPECT_TRUE(set.ok()) << set.status();
  targets_ = *set;
}

std::string Twin::CauseOf(const Case& c) {
  CaseChecker checker(targets_, *executor_);
  CaseResult result;
  if (!checker.CheckCase(c, {}, &result).ok()) return "";
  for (const Check& check : result.checks) {
    if (IsFailure(check.verdict)) {
      const Diagnosis why = checker.Why(result, check);
      return absl::StrCat(CauseKey(check, why),
                          why.field.empty() || why.exact ? "" : " (outside)");
    }
  }
  return "";
}

std::string Twin::FirstCause(const GeneratorOptions& options,
                             absl::string_view begins) {
  for (int seed = 0; seed < kMostSeeds; ++seed) {
    Choices choices(seed);
    const std::string cause = CauseOf(GenerateCase(choices, options));
    if (!cause.empty() && absl::StartsWith(cause, begins)) return cause;
  }
  ADD_FAILURE() << "nothing fails by " << begins;
  return "";
}

Case Twin::RichFailure(const std::string& cause, int failures,
                       const GeneratorOptions& options) {
  Case richest;
  std::size_t size = 0;
  for (int seed = 0; failures > 0 && seed < kMostSeeds; ++seed) {
    Choices choices(seed);
    const Case c = GenerateCase(choices, options);
    if (CauseOf(c) != cause) continue;
    --failures;
    const std::size_t bytes = CanonicalBinary(c).size();
    if (bytes > size) {
      size = bytes;
      richest = c;
    }
  }
  EXPECT_GT(size, 0u) << cause;
  return richest;
}

Case Twin::Minimal(const std::string& cause, const Case& c,
                   MinimizeProgress* progress, const MinimizeOptions& options) {
  return Minimize(
      c, options,
      [&](const Case& candidate) { return CauseOf(candidate) == cause; },
      [&](const MinimizeProgress& p) {
        if (progress != nullptr) *progress = p;
      });
}

}  // namespace mlafuzz
