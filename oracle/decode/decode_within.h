#ifndef MLAFUZZ_ORACLE_DECODE_DECODE_WITHIN_H_
#define MLAFUZZ_ORACLE_DECODE_DECODE_WITHIN_H_

namespace mlafuzz {

// What is known of a decode whose outputs are all within their bounds.
struct DecodeWithin {
  bool settled_out = false;  // some output has a bound
  bool settled_lse = false;
  double lse_of_bound = 0;  // the largest share that an LSE's error takes
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_DECODE_WITHIN_H_
