#ifndef MLAFUZZ_FUZZ_COMMAND_CHECK_TARGET_H_
#define MLAFUZZ_FUZZ_COMMAND_CHECK_TARGET_H_

#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// A dry run: prints what a target says of itself, and what one valid case of
// each of its kernels comes to. The command's exit code.
int CheckTarget(const Targets& targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CHECK_TARGET_H_
