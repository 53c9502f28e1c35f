#ifndef MLAFUZZ_ORACLE_DEVICE_CONVERT_RULES_H_
#define MLAFUZZ_ORACLE_DEVICE_CONVERT_RULES_H_

#include <cstdint>
#include <optional>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/device/convert_rows.h"

namespace mlafuzz::oracle {

// An index conversion's rules for a step as numbers. nullopt where Expect()
// alone knows what comes of it: rows of a workspace, lists of different
// lengths.
std::optional<ConvertRules> ConvertRulesOf(const ConvertContract& contract,
                                           const PoolImage& pool,
                                           const StepImage& step);

// Whether the step has anything to store: Expectation::written != 0.
bool ConvertWrites(const ConvertContract& contract, const PoolImage& pool,
                   const StepImage& step);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_CONVERT_RULES_H_
