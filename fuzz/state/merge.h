#ifndef MLAFUZZ_FUZZ_STATE_MERGE_H_
#define MLAFUZZ_FUZZ_STATE_MERGE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

struct Merged {
  std::size_t added = 0;
  std::size_t known = 0;
  // Objects of the source that are not what their names say, a sentence each.
  // They are left where they are and never copied.
  std::vector<std::string> damaged;
};

// `into` becomes the union of both; `from` is only read. Every object is
// checked against its name on the way. Merging is commutative, associative and
// idempotent: the bytes of `into` depend on the set of objects alone. Cut at
// any point it leaves a smaller union, and run again it ends. An object comes
// after the parts that it names. The first write that fails ends it.
absl::StatusOr<Merged> Merge(const State& from, State& into);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_MERGE_H_
