#include "fuzz/campaign/unexplained.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "oracle/judge.h"
#include "oracle/other_reading.h"
#include "oracle/verdict.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

absl::string_view WithoutKernel(absl::string_view key) {
  const std::size_t slash = key.find('/');
  return slash == absl::string_view::npos ? key : key.substr(slash + 1);
}

// Whether it explains more of the further cases than not.
bool IsReading(const Finding& finding) {
  return oracle::IsOtherReading(WithoutKernel(finding.failure.key())) &&
         finding.alike > finding.others;
}

// How much a finding says of the fault: what a call of its own makes of a case
// more than what it takes other calls or other cases to show.
int RankOf(const Finding& finding) {
  if (IsReading(finding)) return 2;
  return IsRelation(finding.failure.property()) ? 0 : 1;
}

// Of the findings at `places`, the one that stays: of equals the first, but of
// readings the one that explains most.
std::size_t Leader(const std::vector<Finding>& findings,
                   const std::vector<std::size_t>& places) {
  std::size_t leader = places[0];
  for (const std::size_t place : places) {
    const int rank = RankOf(findings[place]);
    const int best = RankOf(findings[leader]);
    const bool better =
        rank > best || (rank == best && IsReading(findings[place]) &&
                        findings[place].alike > findings[leader].alike);
    if (better) leader = place;
  }
  return leader;
}

void Take(Finding& leader, Finding& other) {
  leader.repeats += other.repeats;
  leader.shapes.push_back({other.failure.key(), other.failure.property(),
                           other.failure.cause(), /*case_file=*/""});
  // Found when its first shape was.
  if (other.cases_to_find < leader.cases_to_find) {
    leader.executions_to_find = other.executions_to_find;
    leader.cases_to_find = other.cases_to_find;
    leader.seconds_to_find = other.seconds_to_find;
    leader.cpu_seconds_to_find = other.cpu_seconds_to_find;
  }
}

// What a call without tokens ends in, and what another call does, as the
// diagnosis says it; empty: neither.
absl::string_view ErrorOf(const Finding& finding) {
  const absl::string_view cause = finding.failure.cause();
  for (const absl::string_view words :
       {"a call without tokens ends in: ", " reports an error: "}) {
    const std::size_t at = cause.find(words);
    if (at != absl::string_view::npos) return cause.substr(at + words.size());
  }
  return "";
}

// Whether the finding blames the rule of calls without tokens for an error that
// `other`, of calls with some, ends in as well: it is no rule's then.
bool IsOneError(const Finding& finding, const Finding& other) {
  return absl::EndsWith(finding.failure.key(), "=ZERO_TOKENS_LAUNCH_ERROR") &&
         finding.failure.kernel() == other.failure.kernel() &&
         WithoutKernel(other.failure.key()) == "error" &&
         ErrorOf(finding) == ErrorOf(other);
}

void SayShapes(Finding& leader) {
  std::vector<std::string> keys;
  for (const Finding::Shape& shape : leader.shapes) {
    keys.emplace_back(WithoutKernel(shape.key));
  }
  absl::StrAppend(leader.failure.mutable_cause(), "; the ",
                  leader.failure.kernel(),
                  " fails in other ways that no known cause explains, taken "
                  "for the same fault: ",
                  absl::StrJoin(keys, ", "));
}

}  // namespace

bool IsUnexplained(const Finding& finding) {
  const Failure& failure = finding.failure;
  if (failure.verdict() != VerdictName(Verdict::kFail) &&
      failure.verdict() != VerdictName(Verdict::kCrash)) {
    return false;
  }
  if (failure.property() == property::kRefusal ||
      failure.property() == property::kLanes) {
    return false;
  }
  const absl::string_view key = WithoutKernel(failure.key());
  return key == kNothingWritten || !CanBeRuledOut(key);
}

bool IsBelied(const Finding& finding) {
  return finding.settled && !IsUnexplained(finding) &&
         finding.contradicted > finding.alike &&
         finding.failure.verdict() == VerdictName(Verdict::kFail) &&
         finding.failure.property() != property::kRefusal &&
         finding.failure.property() != property::kLanes;
}

std::vector<Finding> JoinUnexplained(std::vector<Finding>& findings) {
  std::vector<bool> taken(findings.size());
  // What only a shared call or another relation shows of a kernel that is wrong
  // alone, too: as long as that is so, it may be the same fault, whatever
  // explains the other.
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].failure.property() != kFusedRelation &&
        (!IsRelation(findings[i].failure.property()) ||
         !IsUnexplained(findings[i]))) {
      continue;
    }
    const bool fused = findings[i].failure.property() == kFusedRelation;
    for (std::size_t k = 0; k < findings.size(); ++k) {
      const Failure& other = findings[k].failure;
      if (other.kernel() != findings[i].failure.kernel() ||
          IsRelation(other.property()) || IsUnexplained(findings[k]) ||
          (!fused &&
           (IsBelied(findings[k]) || other.property() == property::kRefusal))) {
        continue;
      }
      Take(findings[k], findings[i]);
      SayShapes(findings[k]);
      taken[i] = true;
      break;
    }
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t k = 0; k < findings.size() && !taken[i]; ++k) {
      if (taken[k] || !IsOneError(findings[i], findings[k])) continue;
      Take(findings[k], findings[i]);
      SayShapes(findings[k]);
      taken[i] = true;
    }
  }
  std::map<std::string, std::vector<std::size_t>> by_kernel;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (IsUnexplained(findings[i]) && !taken[i]) {
      by_kernel[findings[i].failure.kernel()].push_back(i);
    }
  }
  for (auto& [kernel, places] : by_kernel) {
    const std::size_t leader = Leader(findings, places);
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (findings[i].failure.kernel() == kernel && IsBelied(findings[i])) {
        places.push_back(i);
      }
    }
    if (places.size() < 2) continue;
    for (const std::size_t place : places) {
      if (place == leader) continue;
      Take(findings[leader], findings[place]);
      taken[place] = true;
    }
    SayShapes(findings[leader]);
  }
  std::vector<Finding> left;
  std::vector<Finding> gone;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    (taken[i] ? gone : left).push_back(std::move(findings[i]));
  }
  findings = std::move(left);
  return gone;
}

}  // namespace mlafuzz
