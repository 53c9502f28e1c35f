#ifndef MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_LAUNCH_H_
#define MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "oracle/device/convert_rows.h"

namespace mlafuzz::oracle {

// Converts `count` rows in `memory`, on the device, and adds entries that
// something outside of the table decides to *unsettled, there as well.
// Asynchronous.
cudaError_t LaunchConvertRows(const ConvertCall& call, std::uint8_t* memory,
                              std::size_t count, unsigned long long* unsettled,
                              cudaStream_t stream);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_CONVERT_ROWS_LAUNCH_H_
