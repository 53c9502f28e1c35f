#ifndef MLAFUZZ_PROPERTIES_BOUNDS_BOUND_SEARCH_H_
#define MLAFUZZ_PROPERTIES_BOUNDS_BOUND_SEARCH_H_

#include <cstdint>

#include "corpus/case.pb.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/bounds/bound_ratio.h"

namespace mlafuzz {

// What a search found: the largest ratios, and the cases they came from.
struct WorstCase {
  double out = 0, lse = 0;
  Case out_case, lse_case;
  int measured = 0;  // cases
  double open = 0;   // share of their elements that no bound covers
};

// Looks for a case of one query, one head and `keys` keys on which the decode
// of `targets` errs by as much of its bound as possible. Hill climbing in
// rounds: from a random case, one edit at a time of its values (columns of the
// query, codes, scales, rope, softmax scale, sink) or knobs (which keys, where
// they stand among the lanes, how many splits), keeping what does not lessen
// the ratio of the output or, in every second round, of the LSE; a new round
// when nothing has helped for a while. `steps` cases are measured.
// Deterministic.
WorstCase SearchWorstCase(const TargetSet& targets, Executor& executor,
                          std::uint32_t keys, int steps, std::uint64_t seed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_BOUNDS_BOUND_SEARCH_H_
