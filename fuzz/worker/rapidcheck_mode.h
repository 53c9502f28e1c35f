#ifndef MLAFUZZ_FUZZ_WORKER_RAPIDCHECK_MODE_H_
#define MLAFUZZ_FUZZ_WORKER_RAPIDCHECK_MODE_H_

#include <cstdint>

#include "fuzz/worker/fuzz_mode.h"

namespace mlafuzz {

// A campaign without libFuzzer: RapidCheck's own loop draws every case from its
// own randomness at its own growing sizes (properties/rapidcheck/sized_case.h),
// and the campaign's side runs, checks and counts them as it does libFuzzer's.
// Ends when that says so, or can run no further case.
void FuzzWithRapidCheck(std::uint64_t seed, FuzzMode& fuzz);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_RAPIDCHECK_MODE_H_
