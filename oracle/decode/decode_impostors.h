#ifndef MLAFUZZ_ORACLE_DECODE_DECODE_IMPOSTORS_H_
#define MLAFUZZ_ORACLE_DECODE_DECODE_IMPOSTORS_H_

#include <cstdint>

#include "oracle/decode/wrong_decode.h"
#include "oracle/verdict.h"

// Who writes nothing, or returns its input, may by chance leave what some other
// fault would.
namespace mlafuzz::oracle {

// Whether the latent part of the query stands in a row of the output. Zeros say
// little: many faults end in them.
enum class Repeat { kNo, kZeros, kYes };
Repeat RepeatsQuery(const WrongDecode& wrong, std::int64_t row);

// Adds those of the two to `also` that may have left all that is wrong.
void AddImpostors(const WrongDecode& wrong, Diagnosis& diagnosis);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DECODE_IMPOSTORS_H_
