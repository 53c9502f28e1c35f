#ifndef MLAFUZZ_FUZZ_COMMAND_REPLAY_JSON_H_
#define MLAFUZZ_FUZZ_COMMAND_REPLAY_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/worker/worker.pb.h"

namespace mlafuzz {

// One replayed case, for programs: "case", "checks" ({"step", "kernel",
// "property", "verdict", "detail"}; of an unspecified one the detail begins
// with the contract field that leaves it open), "failures" ({"step", "kernel",
// "property", "verdict", "field", "cause_key", "cause", "detail"}), "runs",
// "failed_runs", "error" (it could not be run) and "not_of_these_kernels" (why
// it says nothing of the kernels asked for); texts are empty where there is
// nothing to say.
nlohmann::ordered_json ReplayJson(const std::string& path, const CaseRun& run,
                                  const std::string& not_of_these_kernels);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_REPLAY_JSON_H_
