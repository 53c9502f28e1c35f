#ifndef MLAFUZZ_ORACLE_VALIDITY_PARTS_H_
#define MLAFUZZ_ORACLE_VALIDITY_PARTS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "oracle/validity.h"

namespace mlafuzz::oracle {

// Keeps the strongest rule that applies to a step: unspecified over invalid
// over boundary over valid; of equals the first. Reasons are made only for a
// rule that is kept.
class RuleCollector {
 public:
  using Reason = absl::FunctionRef<std::string()>;

  void Unspecified(absl::string_view rule, Reason reason) {
    Keep(Validity::kUnspecified, rule, reason);
  }
  void Boundary(absl::string_view rule, Reason reason) {
    Keep(Validity::kBoundary, rule, reason);
  }
  // A misuse of the call: invalid where the host checks for it.
  void Misuse(bool checked, absl::string_view rule, Reason reason) {
    Keep(checked ? Validity::kInvalid : Validity::kUnspecified, rule, reason);
  }

  bool IsUnspecified() const {
    return kept_.validity == Validity::kUnspecified;
  }
  StepValidity Take() { return std::move(kept_); }

 private:
  void Keep(Validity validity, absl::string_view rule, Reason reason);

  StepValidity kept_;
};

// Of the pool as all kernels take it.
//   row bytes: the tensor's last dimension is the layout's row.
//   alignment: page 0, rows and pages at multiples of 8 bytes, an indexer's of
//     4: its pages of an odd number of tokens end at no multiple of 8. A stride
//     that separates nothing (one row, one page) does not count.
//   overlap: rows and pages of the layout's size do not overlap.
bool HasRowBytes(const PoolImage& pool);
int PoolAlignment(const PoolImage& pool);
bool IsAligned(const PoolImage& pool);
bool Overlaps(const PoolImage& pool);
// Element 0 and the rows of a tensor at multiples of `alignment` bytes; the
// stride of a single row does not count, nor does a tensor without rows.
bool IsAligned(const Tensor& tensor, std::int64_t alignment);

StepValidity ClassifyWrite(const WriterContract& contract,
                           const PoolImage& pool, const StepImage& step);
StepValidity ClassifyGather(const GatherContract& contract,
                            const PoolImage& pool, const StepImage& step);
StepValidity ClassifyConvert(const ConvertContract& contract,
                             const PoolImage& pool, const StepImage& step);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_VALIDITY_PARTS_H_
