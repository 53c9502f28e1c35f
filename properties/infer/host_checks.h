#ifndef MLAFUZZ_PROPERTIES_INFER_HOST_CHECKS_H_
#define MLAFUZZ_PROPERTIES_INFER_HOST_CHECKS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/infer/infer.pb.h"

namespace mlafuzz {

// The numbers of a kernel's host checks that `contract` lists; and the same
// list with others.
std::vector<int> HostChecks(const Contract& contract, Kernel kernel);
void SetHostChecks(const std::vector<int>& checks, Kernel kernel,
                   Contract* contract);

// Sends a few misuses of each check and sees which are refused. Foreign targets
// get all; of one that runs in this process only those that it promises to
// refuse, because it might take the process with it.
absl::StatusOr<std::vector<InferredCheck>> TryHostChecks(
    Kernel kernel, const Contract& declared, const TargetSet& targets,
    Executor& executor, std::uint64_t seed,
    const std::function<void()>& progress);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_INFER_HOST_CHECKS_H_
