#ifndef MLAFUZZ_ORACLE_DECODE_DIAGNOSE_DECODE_ENDING_H_
#define MLAFUZZ_ORACLE_DECODE_DIAGNOSE_DECODE_ENDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// Why the check of a decode failed that did not end as it should, or that
// touched what it must not: by how it ended, or by the rule under which it
// would have been refused. A death is a rule's that reads at the address which
// was its end; of others that read outside it is possible, as what was read
// there may have led elsewhere. No key: neither is so. `rows`: of the same step
// and observation.
Diagnosis DiagnoseDecodeEnding(const Contract& contract, const CaseImage& image,
                               int step,
                               absl::Span<const std::uint8_t> pool_before,
                               const StepObservation& observed,
                               const ObservedRows& rows, const Check& check);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DIAGNOSE_DECODE_ENDING_H_
