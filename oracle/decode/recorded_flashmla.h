#ifndef MLAFUZZ_ORACLE_DECODE_RECORDED_FLASHMLA_H_
#define MLAFUZZ_ORACLE_DECODE_RECORDED_FLASHMLA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"

// The recorded decodes of FlashMLA on sm_90; oracle/decode/testdata/README.md.
namespace mlafuzz {

struct FlashMlaCase {
  std::string name;
  bool compare = false;  // else a record of an edge
  Step step;             // images point to their steps, so this lives beside it
  CaseImage image;
  std::vector<std::vector<std::pair<int, int>>> splits;
  std::vector<std::uint16_t> out;  // [b, h_q, 512] bf16
  std::vector<float> lse;          // [b, h_q]
};

// All 15 over 656-byte rows, read from the runfiles.
std::vector<FlashMlaCase> LoadFlashMla();
// All 21 over DeepSeek-V4's footer layout.
std::vector<FlashMlaCase> LoadFlashMlaDsv4();

// How a recorded output agrees with an expectation.
struct FlashMlaAgreement {
  double equal = 0;  // share of output words equal to the rounded value
  double relative_l2 = 0;
  double lse = 0;            // largest |lse - predicted| / (1 + |predicted|)
  std::int64_t outside = 0;  // words outside their bound
  std::int64_t lse_outside = 0;
  std::int64_t open = 0;  // words of which nothing is said
};
// By that contract and the recorded splits.
FlashMlaAgreement CompareFlashMla(const FlashMlaCase& c,
                                  const Contract& contract);

// What that kernel promises: scale and product rounded to bf16, bf16 weights
// per block of 64, fp32 partials, natural LSE without the sink, +Inf for an
// empty row, subnormal results flushed.
Contract FlashMlaContract();
// The same kernel over DeepSeek-V4's layout: lengths count there.
Contract FlashMlaDsv4Contract();

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_RECORDED_FLASHMLA_H_
