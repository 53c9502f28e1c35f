#ifndef MLAFUZZ_CORPUS_OBSERVATION_H_
#define MLAFUZZ_CORPUS_OBSERVATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corpus/image.h"

namespace mlafuzz {

// How one call ended.
enum class CallStatus {
  kOk,
  kRefused,         // the host check said no; nothing may have been written
  kError,           // the target itself reports a failure
  kNotImplemented,  // the target has no such kernel
  kFault,           // the lane runtime stopped it: deadlock, divergence, race
  kCrash,           // the process died
  kHang,            // killed by the watchdog
  kOutOfMemory,
  kProtocol,  // a child answered nonsense
};
const char* CallStatusName(CallStatus status);

// Bytes changed where the call had no business: in guards, or in an input.
struct Stray {
  // The pool (nullopt) or a tensor of the step.
  std::optional<TensorId> tensor;
  // First and last changed byte, relative to byte 0 of the tensor's (the
  // pool's) `bytes`; negative: before it.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 0;  // changed bytes between them
};

// The memory access that ended a call in SIGSEGV or SIGBUS. Where the processor
// does not tell its address, the smallest integer stands for each distance.
struct MemoryFault {
  // Bytes from byte 0 of the pool's `bytes`, and of each tensor's of the step.
  std::int64_t from_pool = 0;
  std::vector<std::int64_t> from_tensors;
};

// What one step of a case left behind.
struct StepObservation {
  CallStatus status = CallStatus::kOk;
  std::string message;  // the refusal, error or fault in the target's words
  // Of a kCrash, where there was one; absent for abort() and the like.
  std::optional<MemoryFault> fault;

  // The pool's bytes after the step, laid out as PoolImage::bytes; absent if
  // the step changed none of them.
  std::optional<std::vector<std::uint8_t>> pool;
  // One entry for each tensor of the step, in its order: the bytes of an output
  // after the call; empty for an input.
  std::vector<std::vector<std::uint8_t>> outputs;
  // Guard and input damage.
  std::vector<Stray> strays;
  // What a sanitizer said during the call, first lines only.
  std::vector<std::string> reports;
};

// What one case left behind. A step that did not run (an earlier one ended in
// kCrash, kHang, kOutOfMemory or kProtocol) has no entry.
struct Observation {
  std::vector<StepObservation> steps;
  // Calls that the process of a foreign target had made before this case's
  // first. What comes of them may not come back when the case runs alone.
  std::uint64_t earlier_calls = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_OBSERVATION_H_
