#ifndef MLAFUZZ_ORACLE_EXPECT_PARTS_H_
#define MLAFUZZ_ORACLE_EXPECT_PARTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/expect.h"
#include "oracle/layout.h"
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

// Byte of the scale tensor at which a gather that copies stores the scales of
// row `row` of `dst`.
std::int64_t ScaleRowAt(const GatherContract& contract, const RowLayout& layout,
                        const Tensor& dst, std::int64_t row);

void ExpectConvert(const ConvertContract& contract, const PoolImage& pool,
                   const StepImage& step, Expectation* result);

// Bytes of a token that a write with this step's k_pe covers: 528 or 656 of
// fp8_ds_mla, all of another layout.
int WrittenRowBytes(const WriterContract& contract, const PoolImage& pool,
                    const StepImage& step);

// Stores a token's bytes (codes, scales, rope or tail, padding) at `row`, which
// has the layout's row bytes in one run. What the contract leaves alone keeps
// its bytes.
void WriteRow(const WriterContract& contract, const PoolImage& pool,
              const StepImage& step, std::int64_t token, std::uint8_t* row);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_EXPECT_PARTS_H_
