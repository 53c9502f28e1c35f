#ifndef MLAFUZZ_BASELINES_CALLS_H_
#define MLAFUZZ_BASELINES_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "baselines/attention.h"
#include "corpus/image.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"

namespace mlafuzz::baselines {

// int32 [rows, columns], dense.
struct Table {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int32_t> pages;
};

// Calls of kernels as a test makes them, on the host backend: tensors in, and
// what the kernel left in its outputs. What lies between and behind tensors is
// guarded, so that a wrong kernel cannot damage the test, but nobody looks at
// it: published tests do not. Each call's lanes run in an order of their own,
// drawn from `seed`. Every call returns how it failed ("crash: SIGSEGV ..."),
// or nothing.
class Calls {
 public:
  Calls(TargetSet targets, std::uint64_t seed);

  const TargetSet& targets() const { return targets_; }

  // kv_c [slots, 512] and k_pe [slots, 64] bf16 into the pool.
  std::string Write(absl::Span<const std::uint16_t> kv_c,
                    absl::Span<const std::uint16_t> k_pe,
                    absl::Span<const std::int64_t> slots, PoolImage* pool);

  // dst [rows, 576] bf16, as the caller left it. `seq_starts` may be empty.
  std::string Gather(const Table& table, absl::Span<const std::int32_t> starts,
                     absl::Span<const std::int32_t> seq_starts, PoolImage* pool,
                     std::vector<std::uint16_t>* dst);

  // out [token_indices.rows, width] and valid_count [rows].
  std::string Convert(std::int64_t page_size,
                      absl::Span<const std::int32_t> request_ids,
                      const Table& block_table, const Table& token_indices,
                      std::vector<std::int32_t>* out,
                      std::vector<std::int32_t>* valid_count);

  // Into `output`, whose sizes and former contents are the caller's. `gap`:
  // elements between rows of q and of indices, and one unused head a query, as
  // of a view of something larger.
  std::string Decode(const AttentionInput& input, PoolImage* pool,
                     AttentionOutput* output, std::int64_t gap = 0);

 private:
  // Runs the one step of `image_` on `pool`, which is as it was but for what
  // the kernel wrote.
  std::string Run(PoolImage* pool);
  StepImage& NewStep(Kernel kernel);

  TargetSet targets_;
  std::unique_ptr<Executor> executor_;
  std::uint64_t next_schedule_;
  Case case_;  // holds the schedule
  Step step_;
  CaseImage image_;
  std::vector<Observation> observations_;
};

}  // namespace mlafuzz::baselines

#endif  // MLAFUZZ_BASELINES_CALLS_H_
