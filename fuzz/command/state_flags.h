#ifndef MLAFUZZ_FUZZ_COMMAND_STATE_FLAGS_H_
#define MLAFUZZ_FUZZ_COMMAND_STATE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/command/arguments.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// --state=DIR, of every command that reads or writes one.
Flag StateFlag();
// The state that --state names; InvalidArgument without the flag.
absl::StatusOr<State> ReadState(const Arguments& arguments);

// Which units a fleet runs: seeds `first` to `first` + `count` - 1.
struct Plan {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  std::uint64_t cases = 0;  // each
};
std::vector<Flag> PlanFlags();
absl::StatusOr<Plan> ReadPlan(const Arguments& arguments);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_STATE_FLAGS_H_
