#ifndef MLAFUZZ_ORACLE_LAYOUTS_VLLM_CONVENTIONS_H_
#define MLAFUZZ_ORACLE_LAYOUTS_VLLM_CONVENTIONS_H_

#include "corpus/contract.pb.h"

namespace mlafuzz::oracle {

// What vLLM's writers of other layouts than the 656-byte row have in common, as
// recorded (testdata/): amax floored at 1e-4, every negative slot skipped.
// `pow2`: scales rounded up to powers of two, as "ue8m0" of the indexer and the
// inserts of DeepSeek-V4 have them.
WriterContract VllmConventions(bool pow2);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_VLLM_CONVENTIONS_H_
