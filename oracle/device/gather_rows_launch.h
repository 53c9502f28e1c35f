#ifndef MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_LAUNCH_H_
#define MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "oracle/device/gather_rows.h"

namespace mlafuzz::oracle {

// Stores `count` rows of dst into `memory`, both on the device. Asynchronous.
cudaError_t LaunchGatherRows(const GatherCall& call, std::uint8_t* memory,
                             const GatherSource* rows, std::size_t count,
                             cudaStream_t stream);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_GATHER_ROWS_LAUNCH_H_
