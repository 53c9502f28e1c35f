#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_H_

#include "properties/minimize/search.h"

// The reductions of each part of a case. Each tries its own on the best case so
// far and says whether one was kept.
namespace mlafuzz::minimize {

bool DropSteps(Search& search);
bool PlainPool(Search& search);
bool SmallerPool(Search& search);
// What the rows hold.
bool PlainFill(Search& search);
// `step`: a step of that kind.
bool ReduceWrite(Search& search, int step);
bool ReduceGather(Search& search, int step);
bool ReduceConvert(Search& search, int step);
bool ReduceDecode(Search& search, int step);
bool ReducePatch(Search& search, int step);

}  // namespace mlafuzz::minimize

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_REDUCE_H_
