#ifndef MLAFUZZ_PROPERTIES_FUSED_RANDOM_RULES_H_
#define MLAFUZZ_PROPERTIES_FUSED_RANDOM_RULES_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "properties/choices.h"

namespace mlafuzz {

// Draws a value for each field of `rules` that is one enum, and returns what it
// has then: "scale=SCALE_BF16", ...
std::vector<std::string> DrawRules(Choices& choices,
                                   google::protobuf::Message& rules);
// All that DrawRules() can return.
std::vector<std::string> AllRules(const google::protobuf::Message& rules);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_RANDOM_RULES_H_
