#ifndef MLAFUZZ_KERNELS_FOREIGN_CALL_MEMORY_H_
#define MLAFUZZ_KERNELS_FOREIGN_CALL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/foreign/callee.h"
#include "kernels/foreign/wire.h"

namespace mlafuzz::wire {

// Where a call's tensors are when its kernel runs. For each call Place(), the
// call, Settle().
class CallMemory {
 public:
  virtual ~CallMemory() = default;

  // What the calls run on, for people; empty: this machine's processors.
  virtual std::string device() const { return ""; }

  // Whether calls may have their tensors in the harness' lent memory.
  virtual bool TakesLentMemory() const { return false; }

  // The views of a call's tensors, whose bytes lie in the arena at `arena`.
  // False, and why: there is no room for them.
  virtual bool Place(const Call& call, std::uint64_t scratch_bytes, char* arena,
                     CallTensors& tensors, std::string* why) = 0;
  // After Place() failed: whether the device itself has, since the last call,
  // and what it said. Then the process must end; a skip would hide the fault.
  virtual bool Lost(std::string*) { return false; }
  // Of the placed call.
  virtual void* stream() { return nullptr; }
  virtual DLTensor* scratch() = 0;
  // More of it for the placed call, aligned to 256 bytes; null if there is not
  // enough. For kernels that know how much they need when called.
  virtual void* TakeScratch(std::size_t) { return nullptr; }

  // Instead of making the placed call: between these two it is captured, over
  // zeros, then run on its own inputs, twice. False, and why: it cannot be;
  // nothing has run.
  virtual bool BeginCapture(std::string* why) {
    *why = "there are no graphs on this device";
    return false;
  }
  virtual bool Replay(std::string*) { return false; }

  // Adds what the placed call took to `stages`, by kStage*, and sets the rates;
  // after Settle(). Nothing unless $MLAFUZZ_STAGE_TIMES is set.
  virtual void Tell(volatile Control*) {}

  // After the call: its results go into the arena; what it wrote outside of the
  // buffers, and the harness will not see there, is appended. `last`: of a
  // batch; what earlier calls did may come out then. False, and what the device
  // said, if it has failed: then the process must end.
  virtual bool Settle(char* arena, CallTensors& tensors, bool last,
                      std::vector<Stray>* strays, std::string* why) = 0;
};

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_CALL_MEMORY_H_
