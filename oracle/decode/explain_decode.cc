#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/call_words.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/decode/validity_decode.h"
#include "oracle/decode/wrong_decode.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kKeysShown = 4;

// A row with its keys, its LSE and its first wrong column.
void ExplainRow(const oracle::WrongDecode& wrong, std::int64_t row,
                std::string* text) {
  const DecodeExpectation& e = wrong.declared;
  const std::int64_t query = row / e.heads;
  const oracle::KeyPlan plan =
      oracle::PlanKeys(wrong.contract, wrong.image.pool, wrong.step, query, {});
  absl::StrAppendFormat(
      text, "first wrong row: query %d, head %d; %d keys, %d masked lanes",
      query, row % e.heads, plan.keys.size(), plan.masked);
  if (plan.known) {
    absl::StrAppendFormat(text, ", %d splits of blocks of %d",
                          plan.splits.size(),
                          wrong.contract.arithmetic().block());
  }
  absl::StrAppend(text, "\n");
  for (std::size_t j = 0; j < plan.keys.size() && j < kKeysShown; ++j) {
    absl::StrAppendFormat(text, "  lane %d: slot %d\n", plan.keys[j].lane,
                          plan.keys[j].slot);
  }
  if (plan.keys.size() > kKeysShown) absl::StrAppend(text, "  ...\n");
  const std::size_t r = static_cast<std::size_t>(row);
  absl::StrAppendFormat(text, "  lse: expected %.9g +- %.3g, got %.9g\n",
                        e.lse[r], e.lse_bound[r], wrong.rows.Lse(row));
  if (const int c = wrong.rows.WrongColumn(e, row); c >= 0) {
    const std::size_t i = r * kDecodeColumns + static_cast<std::size_t>(c);
    const std::uint16_t got = wrong.rows.Out(row, c);
    absl::StrAppendFormat(
        text, "  column %d: expected %.9g +- %.3g, got 0x%04x (%.9g)\n", c,
        e.out[i], e.out_bound[i], got, oracle::Bf16Value(got));
  }
}

}  // namespace

std::string ExplainDecode(const Contract& contract, const CaseImage& image,
                          int step, absl::Span<const std::uint8_t> pool_before,
                          const StepObservation& observed, const Check& check) {
  const StepValidity validity = ClassifyDecode(contract, image, step);
  std::string text =
      absl::StrCat(check.property, ": ", VerdictName(check.verdict), "\n");
  if (!check.detail.empty()) absl::StrAppend(&text, check.detail, "\n");
  absl::StrAppend(&text, oracle::CallWords(validity, observed));
  const oracle::ObservedRows rows(image.steps[static_cast<std::size_t>(step)],
                                  observed);
  if (!oracle::IsCompared(validity, observed) || !rows.well_formed()) {
    return text;
  }
  const oracle::WrongDecode wrong(contract, image, step, pool_before, rows);
  if (!wrong.wrong.empty()) ExplainRow(wrong, wrong.wrong[0], &text);
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
