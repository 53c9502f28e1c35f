#ifndef MLAFUZZ_KERNELS_FOREIGN_LENT_MEMORY_H_
#define MLAFUZZ_KERNELS_FOREIGN_LENT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/device/lender_api.h"

namespace mlafuzz {

// Memory of a GPU that this process owns and lends to runners, which see
// nothing else of this process: kernels of a call work on it in a context of
// their own. Beside it, on the same device and seen by nobody else, lies the
// reference: what the lent bytes must be when the call is done. How a call
// goes:
//
//   1. Inputs() is filled with what the call finds; Bring() takes it to the
//      reference, where Fill() lays pools; Lend() copies all to the lent
//      memory.
//   2. Expected() is filled where the call must leave something else; Expect()
//      takes that to the reference alone. Or Refer() has the device work it out
//      from what is there. Settle() waits for all of it.
//   3. The runner makes its call.
//   4. Compare() says in how many bytes the two differ, Judge() which rows of
//      decodes are within their bounds; Fetch() brings to Results() what the
//      host is to look at itself.
//
// Offsets are the same in all of them, and in the lent memory. A stretch
// travels whole. Errors are the device's, in its words; after one this object
// is of no further use.
class LentMemory {
 public:
  // `bytes` on GPU number `device`. Unavailable, and why: no GPU, no room, a
  // driver that shares no memory, or a program built without CUDA.
  static absl::StatusOr<std::unique_ptr<LentMemory>> Create(
      int device, std::uint64_t bytes);
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  // For a runner to inherit, with the bytes that are behind it.
  int descriptor() const { return api_.descriptor(self_); }
  std::uint64_t bytes() const { return api_.bytes(self_); }

  // Pinned memory of at least `bytes`. A larger one loses what it held.
  // Of inputs there are two, 0 and 1: one can be filled while the other is
  // brought.
  absl::StatusOr<std::uint8_t*> Inputs(std::uint64_t bytes, int which = 0) {
    return Host(InputsOf(which), bytes);
  }
  absl::StatusOr<std::uint8_t*> Expected(std::uint64_t bytes) {
    return Host(kMlafuzzExpected, bytes);
  }
  absl::StatusOr<std::uint8_t*> Results(std::uint64_t bytes) {
    return Host(kMlafuzzResults, bytes);
  }
  absl::StatusOr<std::uint8_t*> Rows(std::uint64_t bytes) {
    return Host(kMlafuzzRows, bytes);
  }
  absl::StatusOr<std::uint8_t*> Plan(std::uint64_t bytes) {
    return Host(kMlafuzzPlan, bytes);
  }
  absl::StatusOr<std::uint8_t*> Told(std::uint64_t bytes) {
    return Host(kMlafuzzTold, bytes);
  }

  // All begin to.
  absl::Status Bring(std::uint64_t begin, std::uint64_t end, int which = 0);
  // `call` is a FillCall (properties/fused/fill_call.h), its plan in Rows()
  // from byte `at` on, a multiple of 16.
  absl::Status Fill(absl::Span<const std::uint8_t> call, std::uint64_t at);
  absl::Status Lend(std::uint64_t begin, std::uint64_t end);
  absl::Status Expect(std::uint64_t begin, std::uint64_t end);
  // Begins to make the reference what a call must leave: `work` is one of
  // kMlafuzz*Rows, which say what `rules` are, and the rows of Rows() from byte
  // `at` on, a multiple of 16. Their offsets are in the reference.
  absl::Status Refer(int work, absl::Span<const std::uint8_t> rules,
                     std::uint64_t at, std::size_t rows);
  absl::Status Settle();
  absl::StatusOr<MlafuzzDifferences> Compare(
      absl::Span<const MlafuzzRange> ranges);
  // Has the device judge what decodes left, by what the reference holds:
  // `call`, Plan() and Told() as oracle/device/decode_call.h has them.
  absl::Status Judge(absl::Span<const std::uint8_t> call);
  absl::Status Fetch(std::uint64_t begin, std::uint64_t end);

  // By the device's clock, since last asked.
  MlafuzzLenderTimes TakeTimes();

 private:
  LentMemory(const MlafuzzLender& api, void* self) : api_(api), self_(self) {}
  static int InputsOf(int which) {
    return which == 0 ? kMlafuzzInputs : kMlafuzzOtherInputs;
  }
  absl::StatusOr<std::uint8_t*> Host(int which, std::uint64_t bytes);
  absl::Status Of(int result) const;

  const MlafuzzLender& api_;
  void* const self_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_LENT_MEMORY_H_
