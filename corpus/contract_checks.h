#ifndef MLAFUZZ_CORPUS_CONTRACT_CHECKS_H_
#define MLAFUZZ_CORPUS_CONTRACT_CHECKS_H_

#include "absl/status/status.h"
#include "corpus/contract.pb.h"

namespace mlafuzz {

// Whether a contract as it was declared, before defaults are filled in, says
// something that a kernel can promise: every value is named in contract.proto,
// numbers are in their range, lists hold each value once, and no two fields
// exclude each other. InvalidArgument names the field, the value and what is
// legal: "writer.pe_dims: 63 is none of 0, 64".
absl::Status CheckContract(const Contract& declared);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_CONTRACT_CHECKS_H_
