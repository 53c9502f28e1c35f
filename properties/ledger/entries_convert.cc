// Wrong index conversions.
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {

std::vector<LedgerEntry> ConvertEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kConvertKernel = Kernel::kConvert;
  return {
      {"mutant:index-zero-for-invalid",
       {kConvertKernel},
       {kConvert, "page-relabelling"},
       "convert.invalid",
       "INVALID_ZERO",
       "convert.invalid=",
       "vllm-project/vllm#45324",
       true},
  };
}

}  // namespace mlafuzz
