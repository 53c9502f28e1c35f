#ifndef MLAFUZZ_ORACLE_VALIDITY_H_
#define MLAFUZZ_ORACLE_VALIDITY_H_

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/step_validity.h"

namespace mlafuzz {

// The class of one step under `contract`, before anything runs. A step is
// invalid only by a check that the contract lists; the same misuse without the
// check is unspecified. Where several rules apply, unspecified beats invalid
// (a target may do anything) and invalid beats boundary.
StepValidity Classify(const Contract& contract, const CaseImage& image,
                      int step);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_VALIDITY_H_
