#include "oracle/decode/outside_reads.h"

#include <cstdint>
#include <set>
#include <utility>

#include "oracle/decode/keys.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// The widest load that any reader of these rows is known to use.
constexpr std::int64_t kWidestLoad = 16;

int ExtraCacheOf(const StepImage& step) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id == TensorId::kExtraCache) return static_cast<int>(i);
  }
  return -1;
}

template <class Take>
void ForPlans(const Contract& contract, const CaseImage& image,
              const StepImage& step, const ExpectOptions& options,
              const Take& take) {
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  for (std::int64_t query = 0; query < queries; ++query) {
    take(PlanKeys(contract, image.pool, step, query, options));
  }
}

// Of rows that lie in their cache: addresses modulo kWidestLoad, by cache.
std::set<std::pair<bool, std::int64_t>> Residues(const Contract& contract,
                                                 const CaseImage& image,
                                                 const StepImage& step,
                                                 const ExpectOptions& options) {
  std::set<std::pair<bool, std::int64_t>> residues;
  ForPlans(contract, image, step, options, [&](const KeyPlan& plan) {
    for (const Key& key : plan.keys) {
      if (key.at >= 0) residues.insert({key.in_extra, key.at % kWidestLoad});
    }
  });
  return residues;
}

}  // namespace

std::vector<ByteRange> DecodeOutsideReads(const Contract& contract,
                                          const CaseImage& image, int step,
                                          const ExpectOptions& options) {
  const StepImage& call = image.steps[static_cast<std::size_t>(step)];
  const RowLayout& layout = LayoutOf(image.pool.layout);
  const int rest = layout.row_bytes - layout.row_part;
  const int extra = ExtraCacheOf(call);
  std::vector<ByteRange> ranges;
  ForPlans(contract, image, call, options, [&](const KeyPlan& plan) {
    for (const KeyPlan::Outside& row : plan.outside_at) {
      const int tensor = row.in_extra ? extra : -1;
      const std::int64_t at = row.place.row, behind = row.place.behind;
      ranges.push_back(
          {.tensor = tensor, .begin = at, .end = at + layout.row_part});
      if (rest == 0) continue;
      ranges.push_back(
          {.tensor = tensor, .begin = behind, .end = behind + rest});
    }
  });
  return ranges;
}

bool ReadsLessAligned(const Contract& contract, const CaseImage& image,
                      int step, const ExpectOptions& options) {
  const StepImage& call = image.steps[static_cast<std::size_t>(step)];
  const auto own = Residues(contract, image, call, {});
  for (const auto& residue : Residues(contract, image, call, options)) {
    if (!own.contains(residue)) return true;
  }
  return false;
}

}  // namespace mlafuzz::oracle
