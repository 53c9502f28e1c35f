#ifndef MLAFUZZ_ORACLE_WRITE_PLAN_H_
#define MLAFUZZ_ORACLE_WRITE_PLAN_H_

#include <cstdint>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/token_place.h"

namespace mlafuzz::oracle {

// One row that a writer's step stores.
struct RowWrite {
  std::int64_t token;
  std::int64_t slot;
  std::int64_t at;  // of the row in PoolImage::bytes
  // Of what lies behind all rows of the page; see TokenPlace.
  std::int64_t behind;

  TokenPlace place() const { return {at, behind}; }
};

// Which token goes where, under the slot rules of a contract.
struct WritePlan {
  // In the order in which they take effect: where slots repeat, the last one
  // stands.
  std::vector<RowWrite> rows;
  // Tokens that the rule skips.
  std::vector<std::int64_t> skipped;
  // Rows that the rule sends outside the bytes of the pool, of those where they
  // lie from byte 0 of PoolImage::bytes.
  std::int64_t outside = 0;
  std::vector<TokenPlace> outside_at;
  // Some slot is written twice.
  bool repeated = false;
};

WritePlan PlanWrites(const WriterContract& contract, const PoolImage& pool,
                     const StepImage& step);

// Whether the rules leave `slot` of a pool of `slots` unwritten.
bool SkipsSlot(const WriterContract& contract, std::int64_t slots,
               std::int64_t slot);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_WRITE_PLAN_H_
