#ifndef MLAFUZZ_FUZZ_WORKER_STEERING_H_
#define MLAFUZZ_FUZZ_WORKER_STEERING_H_

#include <cstdint>
#include <vector>

#include "fuzz/worker/status.h"

namespace mlafuzz {

// How often it is each field's turn when a case is made for a field, by
// AllFields() numbers: in proportion to yield / share, where
//   share  of the sampled steps of the field's kernel that were informative for
//          it: what is poor needs cases;
//   yield  of the sampled cases made for it that were: where making them does
//          not help (the target's contract leaves the matter open), the turn
//          goes to others.
// Both by Laplace's rule, (hits + 1) / (trials + 2), so that nothing is known
// means alike. A function of the counts alone: one job with one seed repeats.
std::vector<std::uint32_t> SteeringWeights(const WorkerStatus& status);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_STEERING_H_
