#include "oracle/decode/scale_pairs.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mlafuzz::oracle {

std::vector<ScalePair> ScalePairs(const Contract& contract) {
  std::vector<ScalePair> pairs;
  // 0 is no rule.
  for (int qk = 1; qk <= ReaderSide::ScaleRule_MAX; ++qk) {
    for (int v = 1; v <= ReaderSide::ScaleRule_MAX; ++v) {
      const auto qk_rule = static_cast<ReaderSide::ScaleRule>(qk);
      const auto v_rule = static_cast<ReaderSide::ScaleRule>(v);
      if (qk_rule == contract.qk().scale_rule() ||
          v_rule == contract.v().scale_rule()) {
        continue;
      }
      ScalePair pair = {contract, "", ""};
      pair.contract.mutable_qk()->set_scale_rule(qk_rule);
      pair.contract.mutable_v()->set_scale_rule(v_rule);
      pair.qk =
          absl::StrCat("qk.scale_rule=", ReaderSide::ScaleRule_Name(qk_rule));
      pair.v =
          absl::StrCat("v.scale_rule=", ReaderSide::ScaleRule_Name(v_rule));
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace mlafuzz::oracle
