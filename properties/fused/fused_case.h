#ifndef MLAFUZZ_PROPERTIES_FUSED_FUSED_CASE_H_
#define MLAFUZZ_PROPERTIES_FUSED_FUSED_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "oracle/judge.h"

namespace mlafuzz {

// Many cases as one: pools end to end in one pool, with disjoint pages; the
// rows of each step's tensors end to end in one tensor each, with slots, page
// numbers, request numbers and first rows of a workspace moved to where the
// case's own now are. One call then does what the cases' own calls would have
// done, if no row of a call may see another. What changes is the shape of the
// batch: the pool's bounds, who has slot 0, the size of the grid, and which
// side of its thresholds a kernel dispatches to.

// Everything that a kernel is told once a call, as bytes to compare: kernel,
// layout, page size, strides, dtypes, widths, heads, scalars, sinks. Cases of
// equal keys may share a call. FailedPrecondition, with the reason, for a case
// that may not:
//   - one with a step that is not plainly valid under its contract, or with a
//     Patch step. What a host must refuse is never fused;
//   - one whose call means something else among others: rows that overlap, rows
//     of the source past the slots, rows of the workspace before the first
//     request, numbers past the own pool that would be somebody else's;
//   - one whose contract lets rows of a call see each other (page tasks by rows
//     alone; splits that are not declared).
// Addresses count by the widest access that they allow; bytes before the pool
// are the first case's.
absl::StatusOr<std::string> FuseKey(const Contracts& contracts,
                                    const CaseImage& image);

// Why no case that calls the kernel may share a call, whatever it is like: a
// rule of its contract. Null: some may.
const char* WhyNoneShares(const Contract& contract, Kernel kernel);

// What a fused case may grow to. Slots and rows are numbered in 32 bits.
inline constexpr std::int64_t kMostFusedSlots = std::int64_t{1} << 30;
inline constexpr std::int64_t kMostFusedRows = std::int64_t{1} << 30;

class FusedCase {
 public:
  // At least one member, all of one FuseKey; slots and rows of each tensor
  // within the limits above together. Members must outlive this.
  explicit FusedCase(std::vector<const CaseImage*> members);
  FusedCase(const FusedCase&) = delete;
  FusedCase& operator=(const FusedCase&) = delete;

  const std::vector<const CaseImage*>& members() const { return members_; }
  // Of no other one in this process, whatever lay at this address before.
  std::uint64_t serial() const { return serial_; }

  // The call without a byte: what its pool and tensors are told to be. `source`
  // is the first member's, whose schedule is the call's.
  const CaseImage& shape() const { return shape_; }
  // Bytes that the pool takes, and tensor number `at` of step `number`.
  std::size_t pool_size() const { return pool_size_; }
  std::size_t tensor_size(std::size_t number, std::size_t at) const {
    return tensors_[number][at].size;
  }

  // The call with its bytes. Here and below, `threads` share the work.
  CaseImage Lay(int threads = 1) const;

  // Where bytes of the call go: pool_size() of the pool (null: they are not
  // laid), tensor_size() of each tensor by step.
  struct Memory {
    std::uint8_t* pool = nullptr;
    std::vector<std::vector<std::uint8_t*>> tensors;
  };
  void LayInto(const Memory& memory, int threads = 1) const;

  // Where a member's own bytes lie: its pages among the pool's, its rows among
  // a tensor's (of a shared one: all).
  struct Place {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  Place PagesOf(std::size_t m) const;
  Place RowsOf(std::size_t number, std::size_t at, std::size_t m) const;
  // Number of the member's first row among a tensor's.
  std::int64_t FirstRow(std::size_t number, std::size_t at,
                        std::size_t m) const {
    return tensors_[number][at].first_row[m];
  }
  // No byte of an output changed that is no member's. `bytes`, tensor_size() of
  // them, are what the call left.
  bool GapsAreWhole(std::size_t number, std::size_t at,
                    const std::uint8_t* bytes) const;

  // What Lay() gives to bytes that are no member's.
  void LayGaps(std::size_t number, std::size_t at, std::uint8_t* data) const;

  // What each member left behind, as if it had run alone, from what the call
  // did. FailedPrecondition, with the reason, where that cannot be
  // told: a call did not end well, bytes changed that belong to no member, a
  // guard or an input is damaged, or a sanitizer reported something.
  absl::StatusOr<std::vector<Observation>> Split(const Observation& fused,
                                                 int threads = 1) const;

 private:
  // Of one tensor: each member's first row, and all bytes.
  struct Stacked {
    std::vector<std::int64_t> first_row;
    std::size_t row_bytes = 0;
    std::size_t size = 0;
  };
  void Stack();
  // Member `m`'s bytes of a tensor, and the gap behind them.
  void LayRows(std::size_t number, std::size_t at, std::size_t m,
               std::uint8_t* data) const;
  // Slots, pages, requests and first rows of member `m` in its rows.
  void MoveNumbers(std::size_t number, std::size_t at, std::size_t m,
                   std::uint8_t* data) const;
  // What member `m` left.
  Observation Part(const Observation& fused, std::size_t m) const;

  std::uint64_t serial_;
  std::vector<const CaseImage*> members_;
  CaseImage shape_;
  std::vector<std::int64_t> first_page_;  // by member
  std::size_t pool_size_ = 0;
  std::vector<std::vector<Stacked>> tensors_;  // by step and tensor
};

// Bytes of a case that its fused case has too.
std::int64_t FusedBytes(const CaseImage& image);
// Rows of the call: tokens, requests or queries of its first step.
std::int64_t FusedRows(const CaseImage& image);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_FUSED_CASE_H_
