#ifndef MLAFUZZ_PROPERTIES_FUSED_LAY_AHEAD_H_
#define MLAFUZZ_PROPERTIES_FUSED_LAY_AHEAD_H_

#include <cstdint>
#include <future>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/foreign/lent_memory.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_layout.h"

namespace mlafuzz {

// Inputs of calls in two halves of pinned memory: while a call is made from
// one, the next one is laid into the other.
class LayAhead {
 public:
  explicit LayAhead(LentMemory& memory) : memory_(memory) {}
  ~LayAhead() { Wait(); }
  LayAhead(const LayAhead&) = delete;
  LayAhead& operator=(const LayAhead&) = delete;

  // The half that holds the inputs of `fused`, laid now unless they are. What
  // Begin() was told of before is forgotten.
  struct Laid {
    int which;  // of LentMemory::Inputs()
    const std::uint8_t* inputs;
  };
  absl::StatusOr<Laid> Take(const FusedCase& fused, const LentLayout& layout,
                            int threads);

  // Begins to lay `next`, as `layout` has it, into the half that was not taken
  // last. `next` must live until Wait().
  absl::Status Begin(const FusedCase& next, LentLayout layout, int threads);
  // It is laid. ForEach() shares its threads with nobody: who needs them waits.
  void Wait();
  // Whoever fills the memory's inputs itself: what was laid is lost.
  void Forget() {
    Wait();
    next_ = 0;
  }

 private:
  LentMemory& memory_;
  int taken_ = 0;
  std::uint64_t next_ = 0;  // serial; laid, or on its way, in the other half
  std::uint8_t* inputs_ = nullptr;  // that one's
  std::future<void> under_way_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_LAY_AHEAD_H_
