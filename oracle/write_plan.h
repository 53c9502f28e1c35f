#ifndef MLAFUZZ_ORACLE_WRITE_PLAN_H_
#define MLAFUZZ_ORACLE_WRITE_PLAN_H_

#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz::oracle {

// One row that a writer's step stores.
struct RowWrite {
  std::int64_t token;
  std::int64_t slot;
  std::int64_t at;  // of the row in PoolImage::bytes
};

// Which token goes where, under the slot rules of a contract.
struct WritePlan {
  // In the order in which they take effect: where slots repeat, the last one
  // stands.
  std::vector<RowWrite> rows;
  // Tokens that the rule skips.
  std::vector<std::int64_t> skipped;
  // Rows that the rule sends outside the bytes of the pool, of those the first
  // byte from byte 0 of PoolImage::bytes.
  std::int64_t outside = 0;
  std::vector<std::int64_t> outside_at;
  // Some slot is written twice.
  bool repeated = false;
};

WritePlan PlanWrites(const WriterContract& contract, const PoolImage& pool,
                     const StepImage& step);

// Whether the rule leaves `slot` unwritten.
bool SkipsSlot(WriterContract::Slots rule, std::int64_t slot);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_WRITE_PLAN_H_
