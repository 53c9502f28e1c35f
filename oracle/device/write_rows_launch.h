#ifndef MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_LAUNCH_H_
#define MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "oracle/device/write_rows.h"

namespace mlafuzz::oracle {

// Stores the rows of `count` tokens into `memory`, both on the device. No two
// of them share a byte. Asynchronous.
cudaError_t LaunchWriteRows(const WriteCall& call, std::uint8_t* memory,
                            const WriteRow* rows, std::size_t count,
                            cudaStream_t stream);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_WRITE_ROWS_LAUNCH_H_
