#ifndef MLAFUZZ_ORACLE_DECODE_NAME_DECODE_DAMAGE_H_
#define MLAFUZZ_ORACLE_DECODE_NAME_DECODE_DAMAGE_H_

#include <string>
#include <vector>

#include "oracle/decode/wrong_decode.h"
#include "oracle/verdict.h"

namespace mlafuzz::oracle {

// A name for what is wrong itself, where no expectation explains it: nothing
// written, the query in the output, NaN, zeros, output or LSE alone. Rows with
// masked lanes beside a slot 0 that is not finite are put down to the rule of
// masked lanes if `possible` has it. What is `possible` is kept as that.
Diagnosis NameDecodeDamage(const WrongDecode& wrong,
                           const std::vector<std::string>& possible);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_NAME_DECODE_DAMAGE_H_
