#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "oracle/decode/diagnose_decode_ending.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/name_decode_damage.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/decode/other_expectations.h"
#include "oracle/decode/wrong_decode.h"
#include "oracle/diagnosis_parts.h"

// How a cause is found:
//   1. A call that did not end as it should is explained by how it ended, or by
//      the rule under which it would have been refused
//      (diagnose_decode_ending.h).
//   2. Neighbouring contracts, pairs of changes and known faults are asked what
//      they would have left (other_expectations.h): the first that explains
//      what came back is the cause, the others are named beside it.
//   3. If none does, the damage itself is given a name (name_decode_damage.h).
namespace mlafuzz {

Diagnosis DiagnoseDecode(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed, const Check& check) {
  const oracle::ObservedRows rows(image.steps[static_cast<std::size_t>(step)],
                                  observed);
  Diagnosis d = oracle::DiagnoseDecodeEnding(contract, image, step, pool_before,
                                             observed, rows, check);
  if (d.key.empty() && !rows.well_formed()) {
    d = oracle::Pattern("protocol", check.detail);
  }
  if (d.key.empty()) {
    const oracle::WrongDecode wrong(contract, image, step, pool_before, rows);
    if (wrong.wrong.empty()) {
      d = oracle::Pattern(check.property, check.detail);
    } else {
      auto [cause, possible] = oracle::AskOtherExpectations(wrong);
      d = cause.key.empty() ? oracle::NameDecodeDamage(wrong, possible) : cause;
      d.says_little = std::all_of(
          wrong.wrong.begin(), wrong.wrong.end(), [&](std::int64_t row) {
            return rows.WrongColumn(wrong.declared, row) >= 0 &&
                   rows.AllNan(row);
          });
    }
  }
  d.exact = !d.field.empty();
  return d;
}

}  // namespace mlafuzz
