#include "oracle/call_words.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/judge_decode.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {

bool RulesOutDecodeFault(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed,
                         absl::string_view key) {
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  const oracle::ObservedRows rows(s, observed);
  if (!rows.well_formed() ||
      !oracle::IsCompared(ClassifyDecode(contract, image, step), observed)) {
    return false;
  }
  // Of a split that is left out nobody knows which: all must be.
  bool any = false;
  for (const oracle::DecodeFault& fault :
       oracle::DecodeFaults(contract, image, step)) {
    if (key != fault.key) continue;
    const DecodeExpectation e =
        ExpectDecode(contract, image, step, pool_before, fault.options);
    bool matches = true;
    for (std::int64_t row = 0; matches && row < e.rows(); ++row) {
      matches = rows.RowMatches(e, row);
    }
    if (matches) return false;
    any = true;
  }
  return any;
}

}  // namespace mlafuzz
