#ifndef MLAFUZZ_PROPERTIES_FUSED_JUDGE_TWICE_H_
#define MLAFUZZ_PROPERTIES_FUSED_JUDGE_TWICE_H_

#include "absl/status/status.h"
#include "oracle/judge.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {

// The host's verdict of each case of a call that the device passed: Judge() of
// the bytes that it left. `result` is as expected, and holds all that the call
// left (LentCalls::KeepAll()). Internal, with the first member whose checks
// differ from what the device led to, and both.
absl::Status JudgeTwice(const FusedCase& fused, const Contracts& contracts,
                        const LentCalls::Result& result, int threads);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_JUDGE_TWICE_H_
