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

// One field of a contract, for people.
struct ContractField {
  std::string name;     // "writer.tail"
  std::string value;    // "TAIL_ZERO"; "none", "unknown" as above
  std::string meaning;  // what contract.proto says of the field and the value
};

// All fields of the messages named in `parts` ("writer", "qk") that are rules
// of the contract's layout, in the order of the file.
std::vector<ContractField> ContractFields(
    const Contract& contract, const std::vector<std::string>& parts);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CONTRACT_TEXT_H_
