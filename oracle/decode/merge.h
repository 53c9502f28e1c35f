#ifndef MLAFUZZ_ORACLE_DECODE_MERGE_H_
#define MLAFUZZ_ORACLE_DECODE_MERGE_H_

#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "oracle/decode/merge_splits.h"
#include "oracle/decode/softmax.h"
#include "oracle/decode/values.h"

namespace mlafuzz::oracle {

// One head's part of a split that has keys.
struct SplitPart {
  SplitSummary summary;
  SplitOutput output;
};

// One head's result: out [512] and its radius [512]; LSE in the contract's
// base. As in DecodeExpectation.
struct HeadResult {
  double* out;
  double* out_radius;
  double* lse;
  double* lse_radius;
};

// Brings the splits of one head together, adds the sink, rounds partials.
// `parts` is not empty; it is used up. `plan_known`: see KeyPlan::known.
void MergeSplits(const Contract& contract, bool plan_known, const Sink& sink,
                 std::vector<SplitPart>* parts, const HeadResult& result);

// The result of a head whose lanes are all masked. UNIT_WEIGHTS is not its
// business.
void EmptyRow(const Contract& contract, const Sink& sink,
              const HeadResult& result);

// Marks everything as open (or as NaN).
void AnythingRow(const HeadResult& result);
void NanRow(const HeadResult& result);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_MERGE_H_
