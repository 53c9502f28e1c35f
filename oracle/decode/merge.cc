#include "oracle/decode/merge.h"

#include <algorithm>
#include <cmath>

#include "oracle/decode/contract_rules.h"

namespace mlafuzz::oracle {

void AnythingRow(const HeadResult& result) {
  std::fill_n(result.out, kLatent, 0.0);
  std::fill_n(result.out_radius, kLatent, kInfinity);
  *result.lse = 0;
  *result.lse_radius = kInfinity;
}

void NanRow(const HeadResult& result) {
  std::fill_n(result.out, kLatent, kNaN);
  std::fill_n(result.out_radius, kLatent, 0.0);
  *result.lse = kNaN;
  *result.lse_radius = 0;
}

void EmptyRow(const Contract& contract, const Sink& sink,
              const HeadResult& result) {
  const Bounded lse = EmptyRowLse(RulesOf(contract.decode()), sink);
  if (std::isinf(lse.radius) && std::isnan(sink.value)) {
    AnythingRow(result);
    return;
  }
  std::fill_n(result.out, kLatent, 0.0);
  std::fill_n(result.out_radius, kLatent, 0.0);
  *result.lse = lse.value;
  *result.lse_radius = lse.radius;
}

void MergeSplits(const Contract& contract, bool plan_known, const Sink& sink,
                 std::vector<SplitPart>* parts, const HeadResult& result) {
  bool anything = false;
  for (const SplitPart& part : *parts) {
    if (part.summary.state == SplitSummary::State::kNan) {
      NanRow(result);
      return;
    }
    anything |= part.summary.state == SplitSummary::State::kAnything;
  }
  if (anything || (sink.present && std::isnan(sink.value))) {
    AnythingRow(result);
    return;
  }
  const ArithmeticRules arithmetic = RulesOf(contract.arithmetic());
  const ResultRules rules = RulesOf(contract.decode());
  const std::size_t n = parts->size();
  std::vector<Bounded> weight(n);
  MergeState state;
  Merge merge(arithmetic, rules, plan_known, sink, static_cast<int>(n),
              weight.data(), &state);
  merge.Begin(
      [&](int i) -> const SplitSummary& { return (*parts)[i].summary; });
  std::vector<Bounded> column(n);
  for (int c = 0; c < kLatent; ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      const SplitOutput& o = (*parts)[i].output;
      column[i] = {o.value[c], o.radius[c]};
      if (merge.merged()) {
        column[i] = RoundPartial(arithmetic.partials, column[i]);
      }
    }
    const Bounded out = merge.Column([&](int i) { return column[i]; });
    result.out[c] = out.value;
    result.out_radius[c] = out.radius;
  }
  const Bounded lse = merge.Lse();
  *result.lse = lse.value;
  *result.lse_radius = lse.radius;
}

}  // namespace mlafuzz::oracle
