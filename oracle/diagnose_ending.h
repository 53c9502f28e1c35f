#ifndef MLAFUZZ_ORACLE_DIAGNOSE_ENDING_H_
#define MLAFUZZ_ORACLE_DIAGNOSE_ENDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/damage.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// Why the check of a writer, gather or index conversion failed whose call did
// not end as it should: its lanes were stopped, the process died, it refused or
// took what it must not, it reported an error. A death is a rule's only if that
// rule accesses the address that was its end. No key: the call ended well.
// `after`: what it left; null if that is not known.
Diagnosis DiagnoseEnding(const Contract& contract, const CaseImage& image,
                         int step, absl::Span<const std::uint8_t> pool_before,
                         const StepObservation& observed,
                         const AfterImage* after, const Check& check);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DIAGNOSE_ENDING_H_
