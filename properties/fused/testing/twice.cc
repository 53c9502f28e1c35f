#include "properties/fused/testing/twice.h"

#include <algorithm>
#include <vector>

#include "properties/fused/fused_case.h"
#include "properties/fused/judge_twice.h"
#include "properties/fused/testing/families.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kMostTemplates = 16;
constexpr std::size_t kSiblings = 15;
// Both ways are taken.
constexpr std::uint64_t kFillFrom = std::uint64_t{64} << 10;
// Each costs a process.
constexpr int kMostBadEnds = 3;

bool AnyFails(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return IsFailure(check.verdict);
  });
}

}  // namespace

absl::Status JudgeFamiliesTwice(LentCalls& calls, const TargetSet& targets,
                                const Contracts& contracts, Kernel kernel,
                                std::size_t cases, std::uint64_t seed,
                                TwiceCounts* counts) {
  const GeneratorOptions options = OptionsFor(targets, kernel);
  calls.KeepAll(true);
  calls.FillFrom(kFillFrom);
  const std::size_t templates =
      std::clamp(cases / (kSiblings + 1), std::size_t{1}, kMostTemplates);
  int bad_ends = 0;
  std::size_t done = 0;
  // What may share no call makes no progress.
  for (int round = 0; done < cases && round < 1000000; ++round) {
    const Families families(
        contracts, options, static_cast<int>(templates), kSiblings,
        seed + static_cast<std::uint64_t>(round) * templates);
    if (families.Calls().empty() && round > 20) break;
    for (const auto& members : families.Calls()) {
      const FusedCase fused(members);
      const auto result = calls.Run(fused, contracts, 1);
      if (!result.ok()) return result.status();
      done += members.size();
      if (!result->why_not.empty()) {
        counts->not_made += members.size();
        if (result->made && ++bad_ends >= kMostBadEnds) {
          return absl::OkStatus();
        }
        continue;
      }
      if (result->as_expected) {
        absl::Status s = JudgeTwice(fused, contracts, *result, 1);
        if (!s.ok()) return s;
        for (std::size_t m = 0; m < members.size(); ++m) {
          // Decodes within bounds are the host's to judge.
          (AnyFails(result->ChecksOf(m)) ? counts->failed : counts->passed)++;
        }
        continue;
      }
      counts->by_host += members.size();
      const auto seen = fused.Split(result->together);
      if (!seen.ok()) {
        counts->failed += members.size();
        continue;
      }
      for (std::size_t m = 0; m < members.size(); ++m) {
        counts->failed += AnyFails(Judge(contracts, *members[m], (*seen)[m]));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
