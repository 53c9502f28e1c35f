#ifndef MLAFUZZ_PROPERTIES_REFUSED_H_
#define MLAFUZZ_PROPERTIES_REFUSED_H_

#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"
#include "properties/choices.h"

namespace mlafuzz {

// Changes one step of `c` (or the pool) into something that a host check of
// its kernel must refuse. Leaves a case without such a step alone.
void MakeRefused(Case& c, Choices& choices);

// The same for one check and one step. False where the step cannot break it:
// a step of another kernel, no tokens, or a check that this project's kernels
// cannot break (CONVERT_CHECK_WIDTH: every width is a multiple of 1).
bool BreakWriterCheck(WriterCheck check, Choices& choices, Pool& pool,
                      Write& write);
bool BreakGatherCheck(GatherCheck check, Choices& choices, Pool& pool,
                      Gather& gather);
bool BreakDecodeCheck(DecodeCheck check, Choices& choices, Pool& pool,
                      Decode& decode);
bool BreakConvertCheck(ConvertCheck check, Choices& choices, Convert& convert);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_REFUSED_H_
