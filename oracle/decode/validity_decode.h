#ifndef MLAFUZZ_ORACLE_DECODE_VALIDITY_DECODE_H_
#define MLAFUZZ_ORACLE_DECODE_VALIDITY_DECODE_H_

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/step_validity.h"

namespace mlafuzz {

// The decode's part of Classify() in oracle/validity.h; `step` is a step with
// kernel kDecode.
//
// Rules: decode.pe_dim, decode.row_bytes, decode.batch, decode.heads,
// decode.alignment (misuse, invalid where checked); decode.capacity (invalid);
// decode.softmax_scale, decode.negative_index, decode.index_past_pool
// (unspecified); decode.zero_queries (boundary). NaN, Inf and any bytes in the
// cache, the query and the sinks are valid.
StepValidity ClassifyDecode(const Contract& contract, const CaseImage& image,
                            int step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_VALIDITY_DECODE_H_
