#ifndef MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_LAUNCH_H_
#define MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "oracle/device/decode_call.h"

namespace mlafuzz::oracle {

// Rooms that a launch is best given: as many rows as the device works on at
// once, at most `rows`, and no more than fit `most_bytes` (one at least).
cudaError_t DecodeRooms(int device, std::uint64_t rows,
                        std::uint64_t room_bytes, std::uint64_t most_bytes,
                        std::uint64_t* rooms);

// Judges a call's rows: those of `memory` are the inputs, of `left` what came
// back; `plan` as DecodeCall has it, `scratch` room for `rooms` rows, `told`
// one a row, by query and head. All on the device. Asynchronous.
cudaError_t LaunchDecodeRows(const DecodeCall& call, const std::uint8_t* memory,
                             const std::uint8_t* left, const char* plan,
                             char* scratch, std::uint64_t rooms,
                             DecodeTold* told, cudaStream_t stream);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_DECODE_ROWS_LAUNCH_H_
