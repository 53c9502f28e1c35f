#ifndef MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_
#define MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "fuzz/campaign/options.h"
#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// Prints how many cases of shared calls the first of several GPUs has judged a
// second, how many all have together, and their share of as many times the
// first's. Each has as many threads then as alone: its part of the processors.
// `targets` run on GPUs.
absl::Status PrintDevices(const Engine& engine, const Targets& targets,
                          const std::vector<std::uint32_t>& devices,
                          double seconds);

// The GPU of `targets`, and the next one, if there is one.
std::vector<std::uint32_t> TwoDevices(const Targets& targets);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_BENCH_DEVICES_H_
