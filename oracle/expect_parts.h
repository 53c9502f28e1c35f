#ifndef MLAFUZZ_ORACLE_EXPECT_PARTS_H_
#define MLAFUZZ_ORACLE_EXPECT_PARTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/expect.h"
#include "oracle/write_plan.h"

// Expect() kernel by kernel. `result->outputs` has one empty entry a tensor on
// entry; each fills what its kernel writes.
namespace mlafuzz::oracle {

void ExpectWrite(const WriterContract& contract, const PoolImage& pool,
                 const StepImage& step,
                 absl::Span<const std::uint8_t> pool_before,
                 Expectation* result);

void ExpectGather(const GatherContract& contract, const PoolImage& pool,
                  const StepImage& step,
                  absl::Span<const std::uint8_t> pool_before,
                  Expectation* result);

void ExpectConvert(const ConvertContract& contract, const PoolImage& pool,
                   const StepImage& step, Expectation* result);

// Bytes of a row that a write with this step's k_pe covers: 528 or 656.
int WrittenRowBytes(const WriterContract& contract, const PoolImage& pool,
                    const StepImage& step);

// Stores token's row (codes, scales, rope or tail) at `row`, which has the
// layout's row bytes. What the contract leaves alone keeps its bytes.
void WriteRow(const WriterContract& contract, const PoolImage& pool,
              const StepImage& step, std::int64_t token, std::uint8_t* row);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_EXPECT_PARTS_H_
