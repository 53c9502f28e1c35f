#ifndef MLAFUZZ_ORACLE_IMAGINED_H_
#define MLAFUZZ_ORACLE_IMAGINED_H_

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"

namespace mlafuzz {

// The observation of a kernel that follows `contract` to the letter: what the
// oracle imagines of it. Invalid calls are refused, unspecified ones done as
// they are. Rows sent outside the pool become strays. For tests: a contract
// with one field changed is a wrong kernel.
Observation Imagine(const Contract& contract, const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_IMAGINED_H_
