#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {

std::string ExplainDecode(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const StepObservation& observed, const Check& check) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const StepValidity validity = ClassifyDecode(contract, image, step);
  std::string text =
      absl::StrCat(check.property, ": ", VerdictName(check.verdict), "\n");
  if (!check.detail.empty()) absl::StrAppend(&text, check.detail, "\n");
  absl::StrAppend(&text, "call: ", ValidityName(validity.validity));
  if (!validity.rule.empty()) {
    absl::StrAppend(&text, " by ", validity.rule, " (", validity.reason, ")");
  }
  absl::StrAppend(&text, ", ended ", CallStatusName(observed.status));
  if (!observed.message.empty()) absl::StrAppend(&text, ": ", observed.message);
  absl::StrAppend(&text, "\n");
  const oracle::ObservedRows rows(s, observed);
  if (observed.status != CallStatus::kOk || !rows.well_formed() ||
      (validity.validity != Validity::kValid &&
       validity.validity != Validity::kBoundary)) {
    return text;
  }
  const DecodeExpectation e = ExpectDecode(contract, image, step, pool_before);
  for (std::int64_t row = 0; row < e.rows(); ++row) {
    if (rows.RowMatches(e, row)) continue;
    const std::int64_t query = row / e.heads;
    const oracle::KeyPlan plan =
        oracle::PlanKeys(contract, image.pool, s, query, {});
    absl::StrAppendFormat(
        &text, "first wrong row: query %d, head %d; %d keys, %d masked lanes",
        query, row % e.heads, plan.keys.size(), plan.masked);
    if (plan.known) {
      absl::StrAppendFormat(&text, ", %d splits of blocks of %d",
                            plan.splits.size(), contract.arithmetic().block());
    }
    absl::StrAppend(&text, "\n");
    for (std::size_t j = 0; j < plan.keys.size() && j < 4; ++j) {
      absl::StrAppendFormat(&text, "  lane %d: slot %d\n", plan.keys[j].lane,
                            plan.keys[j].slot);
    }
    if (plan.keys.size() > 4) absl::StrAppend(&text, "  ...\n");
    const std::size_t r = static_cast<std::size_t>(row);
    absl::StrAppendFormat(&text, "  lse: expected %.9g +- %.3g, got %.9g\n",
                          e.lse[r], e.lse_bound[r], rows.Lse(row));
    if (const int c = rows.WrongColumn(e, row); c >= 0) {
      const std::size_t i = r * kDecodeColumns + c;
      absl::StrAppendFormat(
          &text, "  column %d: expected %.9g +- %.3g, got 0x%04x (%.9g)\n", c,
          e.out[i], e.out_bound[i], rows.Out(row, c),
          oracle::Bf16Value(rows.Out(row, c)));
    }
    break;
  }
  absl::StrAppend(&text, "rules: qk.scale_rule ",
                  ReaderSide::ScaleRule_Name(contract.qk().scale_rule()),
                  ", v.scale_rule ",
                  ReaderSide::ScaleRule_Name(contract.v().scale_rule()), ", ",
                  contract.decode().ShortDebugString(), "\n");
  absl::StrAppend(&text,
                  "simulated: ", contract.arithmetic().ShortDebugString(),
                  "\nbound: derived in docs/bounds.md\n");
  return text;
}

}  // namespace mlafuzz
