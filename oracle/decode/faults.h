#ifndef MLAFUZZ_ORACLE_DECODE_FAULTS_H_
#define MLAFUZZ_ORACLE_DECODE_FAULTS_H_

#include <string>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/decode/decode.h"

namespace mlafuzz::oracle {

// What a wrong decode does to blocks and splits, beside every rule, and whose
// result can be computed.
inline constexpr char kMissingRescale[] = "missing-rescale";
inline constexpr char kSplitDropped[] = "split-partial-dropped";

struct DecodeFault {
  std::string key;    // one of the above
  std::string cause;  // a sentence for people
  ExpectOptions options;
};

// Those that the step has room for: a split is left out only where some query
// has several.
std::vector<DecodeFault> DecodeFaults(const Contract& contract,
                                      const CaseImage& image, int step);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_FAULTS_H_
