#ifndef MLAFUZZ_ORACLE_DECODE_SCALE_PAIRS_H_
#define MLAFUZZ_ORACLE_DECODE_SCALE_PAIRS_H_

#include <string>
#include <vector>

#include "corpus/contract.pb.h"

namespace mlafuzz::oracle {

// A contract of a reader with two other scale rules, of the logits and of the
// values.
struct ScalePair {
  Contract contract;
  std::string qk;  // "qk.scale_rule=SCALE_ONE"
  std::string v;   // "v.scale_rule=SCALE_RAW"

  bool one_rule() const {
    return contract.qk().scale_rule() == contract.v().scale_rule();
  }
  std::string key() const { return qk + "+" + v; }
};

// Every pair of which both rules are others than in `contract`.
std::vector<ScalePair> ScalePairs(const Contract& contract);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_SCALE_PAIRS_H_
