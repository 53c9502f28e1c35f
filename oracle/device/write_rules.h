#ifndef MLAFUZZ_ORACLE_DEVICE_WRITE_RULES_H_
#define MLAFUZZ_ORACLE_DEVICE_WRITE_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/device/write_rows.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {

// A writer's rules for a step as numbers. nullopt where Expect() alone knows
// what comes of it: inputs of 32 bits, values of another number than the
// layout's, tokens with bytes to clear in two places.
std::optional<WriteRules> WriteRulesOf(const WriterContract& contract,
                                       const PoolImage& pool,
                                       const StepImage& step);

// The rows that a step leaves: of those written twice, the one that stands.
struct StandingRows {
  std::vector<RowWrite> rows;
  std::int64_t written = 0;  // as Expectation::written
};
// nullopt where a race or a row outside the pool leaves bytes open.
std::optional<StandingRows> StandingRowsOf(const WriterContract& contract,
                                           const PoolImage& pool,
                                           const StepImage& step);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_WRITE_RULES_H_
