#ifndef MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_
#define MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_

#include "absl/status/status.h"
#include "fuzz/campaign/options.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// Prints how many cases of shared calls one GPU has judged a second, and how
// many it and the next one have together, each with half of the processors; or
// why there are no two. `targets` run on a GPU.
absl::Status PrintDevices(const Engine& engine, const Targets& targets,
                          double seconds);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_
