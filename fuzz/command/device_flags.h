#ifndef MLAFUZZ_FUZZ_COMMAND_DEVICE_FLAGS_H_
#define MLAFUZZ_FUZZ_COMMAND_DEVICE_FLAGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/command/arguments.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// Numbers of GPUs that --devices names, and makes the first of them that of
// `targets`; none, if the flag is not given. The cards must be alike: what is
// said of them is said of one tier. Not beside --device, nor for kernels that
// run on no GPU.
absl::StatusOr<std::vector<std::uint32_t>> ReadDevices(
    const Arguments& arguments, Targets* targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_DEVICE_FLAGS_H_
