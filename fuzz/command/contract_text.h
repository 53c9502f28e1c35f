#ifndef MLAFUZZ_FUZZ_COMMAND_CONTRACT_TEXT_H_
#define MLAFUZZ_FUZZ_COMMAND_CONTRACT_TEXT_H_

#include <string>
#include <vector>

#include "corpus/contract.pb.h"

namespace mlafuzz {

// One line for each field in which a contract is not `builtin`:
// "writer.tail: TAIL_UNCHANGED (builtin: TAIL_ZERO)". Lists and numbers that
// are not given are "none" and "unknown".
std::vector<std::string> ContractDifferences(const Contract& builtin,
                                             const Contract& contract);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CONTRACT_TEXT_H_
