#ifndef MLAFUZZ_ORACLE_FIRST_SEEN_H_
#define MLAFUZZ_ORACLE_FIRST_SEEN_H_

#include <string>

#include "oracle/wrong_step.h"

namespace mlafuzz::oracle {

// What is seen of a cause, for its sentence: "bytes 528..655 of slot 3 keep
// 0xa5", else the first wrong element of the region that tells most and how
// many rows are wrong; of a step whose bytes are right, the check's own words.
std::string FirstSeen(const WrongStep& wrong);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_FIRST_SEEN_H_
