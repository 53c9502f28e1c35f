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

// All 15, read from the runfiles.
std::vector<FlashMlaCase> LoadFlashMla();

// What that kernel promises: scale and product rounded to bf16, bf16 weights
// per block of 64, fp32 partials, natural LSE without the sink, +Inf for an
// empty row, subnormal results flushed.
Contract FlashMlaContract();

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_RECORDED_FLASHMLA_H_
