#ifndef MLAFUZZ_ORACLE_DECODE_CONTRACT_RULES_H_
#define MLAFUZZ_ORACLE_DECODE_CONTRACT_RULES_H_

#include "corpus/contract.pb.h"
#include "oracle/decode/arithmetic_rules.h"
#include "oracle/decode/read_scale.h"

namespace mlafuzz::oracle {

// A contract's rules as plain numbers. Of a checked contract
// (corpus/contract_checks.h).
ArithmeticRules RulesOf(const Arithmetic& arithmetic);
ResultRules RulesOf(const DecodeContract& contract);
SideRules RulesOf(const ReaderSide& side);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DECODE_CONTRACT_RULES_H_
