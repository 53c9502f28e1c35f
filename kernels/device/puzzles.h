#ifndef MLAFUZZ_KERNELS_DEVICE_PUZZLES_H_
#define MLAFUZZ_KERNELS_DEVICE_PUZZLES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/foreign/foreign_target.h"

namespace mlafuzz {

// A fault planted in a kernel on a GPU, and what a run of it must be taken for.
struct Puzzle {
  std::string kernel;  // "writer", ...: whose call it is in
  std::string fault;   // as kernels/device/testing/faults.cu reads it
  std::string guard;   // where unmapped memory is: "before" or "behind"
  // What must be seen: "crash", "hang", "ok", "fault", or the stray bytes
  // "stray TENSOR FIRST" (FIRST relative to the buffer's first byte; "end+N":
  // to the one behind its last).
  std::string expected;
  double call_seconds = 10;
};

// Reads and writes of 1 to 4096 bytes outside of each buffer, on both sides of
// it, and ends of all kinds.
std::vector<Puzzle> Puzzles();

struct PuzzleResult {
  Puzzle puzzle;
  std::string seen;  // in the words of Puzzle::expected
  std::string message;
  bool right() const { return seen == puzzle.expected; }
};

// Runs them on a GPU against `library`, that of faults.cu; after each,
// `done(result)`. Fails only if nothing can run at all.
absl::Status RunPuzzles(const std::string& library, const Backend& backend,
                        absl::Span<const Puzzle> puzzles,
                        const std::function<void(const PuzzleResult&)>& done);

// Whether, of a batch of cases of which one has a call with the fault, that one
// alone is hit. Empty, or what went wrong.
std::string RunBatchPuzzle(const std::string& library, const Backend& backend);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DEVICE_PUZZLES_H_
