#ifndef MLAFUZZ_ORACLE_DEVICE_GATHER_RULES_H_
#define MLAFUZZ_ORACLE_DEVICE_GATHER_RULES_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/device/gather_rows.h"

namespace mlafuzz::oracle {

// A gather's rules for a step as numbers. nullopt where Expect() alone knows
// what comes of it: a dst of another dtype or width than the rules', rows of
// scales that follow from the stride of the codes.
std::optional<GatherRules> GatherRulesOf(const GatherContract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step);

// Where each row of the step's dst comes from, into `rows`, one a row, given
// that byte 0 of the pool's is at `pool_at` of the memory that holds all.
// Returns what Expectation::written would be; nullopt where something outside
// of the tensors, or a race, decides.
std::optional<std::int64_t> PlanGather(const GatherContract& contract,
                                       const GatherRules& rules,
                                       const PoolImage& pool,
                                       const StepImage& step,
                                       std::uint64_t pool_at,
                                       absl::Span<GatherSource> rows);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_GATHER_RULES_H_
