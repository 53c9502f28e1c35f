#ifndef MLAFUZZ_ORACLE_DECODE_DECODE_FIT_H_
#define MLAFUZZ_ORACLE_DECODE_DECODE_FIT_H_

#include "oracle/decode/wrong_decode.h"

namespace mlafuzz::oracle {

// What another expectation says of the rows of a decode.
enum class DecodeFit {
  kNone,   // forbids some row that the declared contract forbids too
  kOpen,   // forbids nothing that was seen, and predicts nothing of it
  kMixed,  // each row fits it or the declared contract, some it alone
  kWhole,  // every row fits it
};
DecodeFit FitOf(const DecodeExpectation& other, const WrongDecode& wrong);

// Whether every value that the declared contract forbids is NaN.
bool WrongIsNan(const WrongDecode& wrong);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_DECODE_FIT_H_
