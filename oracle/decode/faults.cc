#include "oracle/decode/faults.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "oracle/decode/keys.h"

namespace mlafuzz::oracle {
namespace {

// The most splits of any query.
struct Splits {
  int all = 0;
  int with_keys = 0;
  bool any_empty = false;
};

Splits CountSplits(const Contract& contract, const CaseImage& image,
                   const StepImage& step) {
  Splits most;
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  for (std::int64_t query = 0; query < queries; ++query) {
    const KeyPlan plan = PlanKeys(contract, image.pool, step, query, {});
    int with_keys = 0;
    for (const KeyPlan::Split& split : plan.splits) {
      const bool empty = split.keys.first == split.keys.end;
      with_keys += empty ? 0 : 1;
      most.any_empty |= empty;
    }
    most.all = std::max(most.all, static_cast<int>(plan.splits.size()));
    most.with_keys = std::max(most.with_keys, with_keys);
  }
  return most;
}

}  // namespace

std::vector<DecodeFault> DecodeFaults(const Contract& contract,
                                      const CaseImage& image, int step) {
  std::vector<DecodeFault> faults;
  ExpectOptions options;
  options.no_rescale = true;
  faults.push_back({kMissingRescale,
                    "earlier blocks are not rescaled when the running maximum "
                    "rises",
                    options});
  options.no_rescale = false;
  const Splits splits =
      CountSplits(contract, image, image.steps[static_cast<std::size_t>(step)]);
  for (const bool all : {false, true}) {
    options.empty_splits_count = all;
    const int number = all ? splits.all : splits.with_keys;
    for (int split = 0; number > 1 && split < number; ++split) {
      options.dropped_split = split;
      faults.push_back({kSplitDropped,
                        absl::StrCat("the merge leaves out split ", split),
                        options});
    }
    if (number > 1) {
      options.dropped_split = ExpectOptions::kLastSplit;
      faults.push_back(
          {kSplitDropped, "the merge leaves out the last split", options});
    }
    // The same splits again.
    if (!splits.any_empty) break;
  }
  return faults;
}

}  // namespace mlafuzz::oracle
