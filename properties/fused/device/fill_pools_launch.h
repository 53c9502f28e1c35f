#ifndef MLAFUZZ_PROPERTIES_FUSED_DEVICE_FILL_POOLS_LAUNCH_H_
#define MLAFUZZ_PROPERTIES_FUSED_DEVICE_FILL_POOLS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "properties/fused/fill_call.h"

namespace mlafuzz::device {

// Fills the pools of `memory` as `plan`, call.plan_bytes() of it, says; both on
// the device. Asynchronous.
cudaError_t LaunchFillPools(const FillCall& call, const std::uint8_t* plan,
                            std::uint8_t* memory, cudaStream_t stream);

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_PROPERTIES_FUSED_DEVICE_FILL_POOLS_LAUNCH_H_
