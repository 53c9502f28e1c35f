#ifndef MLAFUZZ_KERNELS_FOREIGN_LENT_CALLS_H_
#define MLAFUZZ_KERNELS_FOREIGN_LENT_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/foreign/runners.h"
#include "kernels/guarded_memory.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// A step whose tensors lie in lent memory.
struct LentCall {
  // What the tensors are told to be; none has bytes.
  const CaseImage* image = nullptr;
  std::size_t step = 0;
  // Offsets in the lent memory, and bytes: of the pool (its byte 0, not page 0)
  // and by tensor.
  struct Place {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  Place pool;
  std::vector<Place> tensors;
};

struct CallEnd {
  CallStatus status = CallStatus::kOk;
  std::string message;
};

// Makes calls of one step each on the memory that `runners` were lent, all in
// one exchange with one runner, and says how each ended; where one ends the
// runner, all have that end. `arena`: its addresses stand for those of the lent
// memory and are never read. FailedPrecondition: a step's target takes no such
// calls, or they are not all of one target.
absl::Status MakeLentCalls(const TargetSet& targets,
                           absl::Span<const LentCall> calls,
                           GuardedArena& arena, Runners& runners,
                           std::vector<CallEnd>* ends);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_LENT_CALLS_H_
