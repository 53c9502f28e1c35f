#ifndef MLAFUZZ_ORACLE_DIFFERING_PART_H_
#define MLAFUZZ_ORACLE_DIFFERING_PART_H_

#include "oracle/compared_step.h"

namespace mlafuzz::oracle {

// The name ("codes-only", "tail") of the one part of rows in which what came
// back differs from what is expected, byte by byte; null if there are several,
// none, or something else differs.
const char* OnlyPartThatDiffers(const ComparedStep& compared);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DIFFERING_PART_H_
