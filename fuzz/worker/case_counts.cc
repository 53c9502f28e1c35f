#include "fuzz/worker/case_counts.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "corpus/knobs.h"
#include "oracle/judge.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"
#include "properties/fields.h"
#include "properties/fused/for_each.h"
#include "properties/fused/lent_calls.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// InformativeFields costs one Expect a neighbour, tens of times a case.
constexpr std::uint64_t kCasesPerPowerSample = 64;
// One field of a case made for it costs a few.
constexpr std::uint64_t kMadePerSample = 4;
// Cases that are tallied by one thread.
constexpr std::size_t kPiece = 64;

std::size_t Index(Kernel kernel) { return static_cast<std::size_t>(kernel); }

// A number of AllRelations(), or -1. By a table: thousands of cases have a
// dozen checks each.
int RelationNumber(Kernel kernel, const std::string& property) {
  using Table = absl::flat_hash_map<std::string, std::array<int, kKernels>>;
  static const Table& table = *[] {
    auto* names = new Table;
    const std::vector<Relation>& relations = AllRelations();
    for (std::size_t i = 0; i < relations.size() && i < kMaxRelations; ++i) {
      std::array<int, kKernels> none;
      none.fill(-1);
      int& number = names->try_emplace(relations[i].name, none)
                        .first->second[Index(relations[i].kernel)];
      if (number < 0) number = static_cast<int>(i);
    }
    return names;
  }();
  const auto found = table.find(property);
  return found == table.end() ? -1 : found->second[Index(kernel)];
}

}  // namespace

// Sums, which may be added up in any order.
struct CaseCounts::Tally {
  using Count = std::uint64_t;
  Count checks = 0;
  Count informative = 0;
  std::array<Count, kKernels> cases_of = {};
  std::array<Count, kKernels> not_implemented = {};
  std::array<Count, kVerdictCount> verdicts = {};
  std::array<Count, kMaxRelations> relations = {};
  std::array<Count, kMaxKnobs> knobs = {};
  SemanticCounts semantics;
};

void CaseCounts::AddTo(Tally& tally, const CaseResult& result,
                       bool semantics) const {
  std::bitset<kKernels> called;
  for (const StepImage& step : result.image.steps) {
    if (!step.is_patch) called.set(Index(step.kernel));
  }
  for (std::size_t k = 0; k < kKernels; ++k) {
    if (called.test(k)) ++tally.cases_of[k];
  }
  const auto& steps = result.observation.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].status == CallStatus::kNotImplemented) {
      ++tally.not_implemented[Index(result.image.steps[i].kernel)];
    }
  }
  for (const Check& check : result.checks) {
    ++tally.checks;
    ++tally.verdicts[static_cast<std::size_t>(check.verdict)];
    if (check.verdict == Verdict::kPass || IsFailure(check.verdict)) {
      ++tally.informative;
    }
    const int relation = RelationNumber(check.kernel, check.property);
    if (relation >= 0) ++tally.relations[static_cast<std::size_t>(relation)];
  }
  const std::vector<int> knobs = ExercisedKnobs(result.image);
  for (const int knob : knobs) {
    if (static_cast<std::size_t>(knob) < kMaxKnobs) ++tally.knobs[knob];
  }
  if (semantics) tally.semantics.Add(result, knobs);
}

void CaseCounts::Add(absl::Span<const Counted> cases, std::uint64_t first,
                     int threads, SemanticCounts* semantics) {
  std::vector<Tally> tallies((cases.size() + kPiece - 1) / kPiece);
  ForEach(
      tallies.size(), threads,
      [&](std::size_t t) {
        const std::size_t end = std::min(cases.size(), (t + 1) * kPiece);
        for (std::size_t i = t * kPiece; i < end; ++i) {
          AddTo(tallies[t], *cases[i].result, semantics != nullptr);
        }
      },
      1);
  const auto add = [this](auto& to, const auto& from) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 0) status_.Add(to[i], from[i]);
    }
  };
  for (const Tally& tally : tallies) {
    status_.Add(status_.checks, tally.checks);
    status_.Add(status_.informative, tally.informative);
    add(status_.cases_of, tally.cases_of);
    add(status_.not_implemented, tally.not_implemented);
    add(status_.verdicts, tally.verdicts);
    add(status_.relations, tally.relations);
    add(status_.knobs, tally.knobs);
    if (semantics != nullptr) semantics->Add(tally.semantics);
  }
  for (const Counted& c : cases) {
    std::bitset<kKernels> called;
    for (const StepImage& step : c.result->image.steps) {
      if (!step.is_patch) called.set(Index(step.kernel));
    }
    for (const Kernel kernel : kAllKernels) {
      if (!called.test(Index(kernel))) continue;
      status_.Add(status_.distinct[Index(kernel)],
                  distinct_.Add(kernel, c.hash));
    }
  }
  CountPower(cases, first, threads);
  CountMadeFor(cases, threads);
}

Observation CaseCounts::AllSeen(const CaseResult& result) const {
  Observation seen = result.observation;
  if (result.left_out) {
    FillLeftOut(checker_.contracts(), result.image, &seen);
  }
  return seen;
}

void CaseCounts::CountPower(absl::Span<const Counted> cases,
                            std::uint64_t first, int threads) {
  struct Sample {
    const CaseResult* result;
    std::array<std::uint64_t, kKernels> steps = {};
    std::vector<std::size_t> fields;  // once a step
  };
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if ((first + i) % kCasesPerPowerSample != 0) continue;
    samples.push_back({.result = cases[i].result, .fields = {}});
  }
  const Contracts contracts = checker_.contracts();
  ForEach(
      samples.size(), threads,
      [&](std::size_t s) {
        Sample& sample = samples[s];
        const CaseResult& result = *sample.result;
        const Observation seen = AllSeen(result);
        oracle::PoolHistory history(result.image, seen);
        for (std::size_t i = 0; i < result.observation.steps.size();
             ++i, history.Advance()) {
          if (!MayJudge(result, i)) continue;
          const std::size_t kernel = Index(result.image.steps[i].kernel);
          ++sample.steps[kernel];
          for (const std::string& field :
               InformativeFields(*contracts[kernel], result.image,
                                 static_cast<int>(i), history.before())) {
            const int at = FieldNumber(field);
            if (at >= 0 && static_cast<std::size_t>(at) < kMaxFields) {
              sample.fields.push_back(static_cast<std::size_t>(at));
            }
          }
        }
      },
      1);
  for (const Sample& sample : samples) {
    status_.Add(status_.power_samples);
    for (std::size_t k = 0; k < kKernels; ++k) {
      status_.Add(status_.power_steps[k], sample.steps[k]);
    }
    for (const std::size_t field : sample.fields) {
      status_.Add(status_.power[field]);
    }
  }
}

void CaseCounts::CountMadeFor(absl::Span<const Counted> cases, int threads) {
  struct Sample {
    const CaseResult* result;
    std::size_t field;
    bool informative = false;
  };
  std::vector<Sample> samples;
  for (const Counted& c : cases) {
    const auto at = static_cast<std::size_t>(c.made_for);
    if (c.made_for < 0 || at >= kMaxFields) continue;
    const std::uint64_t made = status_.made_for[at];
    status_.Add(status_.made_for[at]);
    if (made % kMadePerSample != 0) continue;
    samples.push_back({.result = c.result, .field = at});
  }
  ForEach(
      samples.size(), threads,
      [&](std::size_t s) {
        samples[s].informative =
            IsInformativeFor(*samples[s].result, samples[s].field);
      },
      4);
  for (const Sample& sample : samples) {
    status_.Add(status_.made_sampled[sample.field]);
    if (!sample.informative) continue;
    status_.Add(status_.made_informative[sample.field]);
  }
}

bool CaseCounts::IsInformativeFor(const CaseResult& result,
                                  std::size_t number) const {
  const Field& field = AllFields()[number];
  const Contract* contract = checker_.contracts()[Index(field.kernel)];
  const Observation seen = AllSeen(result);
  oracle::PoolHistory history(result.image, seen);
  for (std::size_t i = 0; i < result.observation.steps.size();
       ++i, history.Advance()) {
    if (result.image.steps[i].kernel != field.kernel || !MayJudge(result, i)) {
      continue;
    }
    if (IsInformative(*contract, result.image, static_cast<int>(i),
                      history.before(), field.name)) {
      return true;
    }
  }
  return false;
}

// Whether a contract says anything of the step.
bool CaseCounts::MayJudge(const CaseResult& result, std::size_t step) const {
  const StepImage& s = result.image.steps[step];
  if (s.is_patch) return false;
  const Contract* contract = checker_.contracts()[Index(s.kernel)];
  if (contract == nullptr) return false;
  const Validity validity =
      Classify(*contract, result.image, static_cast<int>(step)).validity;
  return validity == Validity::kValid || validity == Validity::kBoundary;
}

}  // namespace mlafuzz
