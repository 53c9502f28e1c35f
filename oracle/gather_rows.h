#ifndef MLAFUZZ_ORACLE_GATHER_ROWS_H_
#define MLAFUZZ_ORACLE_GATHER_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {

// The rows of dst that one request owns.
struct GatherRequest {
  std::int64_t request;
  std::int64_t first_row;    // of dst
  std::int64_t rows;         // as the length rule says, at least 0
  std::int64_t first_token;  // position of first_row's token in the sequence
  std::int64_t tasks;        // pages that a launch needs for it
  std::int64_t done_rows;    // rows that its launched tasks cover
};

// What a row of dst holds under a contract.
struct DstShape {
  std::int64_t columns;
  std::int64_t element;  // bytes of one
  std::int64_t codes;    // columns that come of codes, or are bytes; then rope
  DType dtype;
};
DstShape DstShapeOf(const GatherContract& contract, const RowLayout& layout);

// Codes of a row under one scale for the whole cache, and nothing else.
inline constexpr std::int64_t kOneScaleCodes = 576;

// Bytes of a row as a contract takes it: the cache tensor's last dimension.
std::int64_t RowBytesOf(const GatherContract& contract,
                        const RowLayout& layout);

// Requests of a gather: entries of workspace_starts, one less where codes are
// copied, as the last entry is the end of the last request there.
std::int64_t RequestCount(const StepImage& step);

// Splits dst among the requests.
//
// Lengths: with a seq_lens tensor request i has seq_lens[i] rows from
// starts[i] on; without, starts[i+1] - starts[i] rows, where starts past the
// end count as StartsPastEnd says, and the last request ends at the last row of
// dst, or where the entry behind its start says. A negative length, given or a
// difference, means no rows.
//
// Tasks: request after request, page after page of the token positions that
// it covers: ceil((first_token % page_size + rows) / page_size), so an empty
// request that begins inside a page still takes one. Tasks past the launch's
// limit (PageTasks) are not done.
std::vector<GatherRequest> SplitRequests(const GatherContract& contract,
                                         const PoolImage& pool,
                                         const StepImage& step);

// Tasks that one launch holds; INT64_MAX under EVERY_PAGE.
std::int64_t TaskLimit(const GatherContract& contract, const PoolImage& pool,
                       const StepImage& step);

// Where the source of one row of dst lies.
struct GatherRow {
  enum class Source {
    kSlot,          // `slot` is a row of the pool
    kSkipped,       // column past the table: the rule leaves dst untouched
    kOutsideTable,  // the entry lies outside the table's storage
    kOutsidePool,   // the entry names no page of the pool
  };
  std::int64_t row;  // of dst, in [0, dst rows)
  std::int64_t request;
  std::int64_t token;
  std::int64_t column;  // of the block table; may be past its width
  std::int64_t entry;   // number of the element of the table
  std::int64_t page;    // what it holds; with kSlot and kOutsidePool
  std::int64_t slot;    // with kSlot
  Source source;
};

// Calls `visit` for every row of dst that the launched tasks cover, request
// after request. Rows outside dst are left out.
void ForEachGatherRow(const GatherContract& contract, const PoolImage& pool,
                      const StepImage& step,
                      absl::FunctionRef<void(const GatherRow&)> visit);
// The same with what SplitRequests() said.
void ForEachGatherRow(const GatherContract& contract, const PoolImage& pool,
                      const StepImage& step,
                      const std::vector<GatherRequest>& requests,
                      absl::FunctionRef<void(const GatherRow&)> visit);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_GATHER_ROWS_H_
