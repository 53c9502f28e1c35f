#include "oracle/device/write_rows_launch.h"

namespace mlafuzz::oracle {
namespace {

constexpr unsigned kThreads = 128;

// A thread has one tile of one token, or what else a token has.
__global__ void WriteRowsKernel(WriteCall call, std::uint8_t* memory,
                                const WriteRow* rows, std::size_t count) {
  const auto parts = static_cast<std::size_t>(call.rules.tiles) + 1;
  const std::size_t number = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // Tiles of tokens side by side: threads of a warp do the same.
  const std::size_t part = number / count;
  if (part >= parts) return;
  const std::size_t token = number % count;
  const WriteRow row = rows[token];
  if (row.at == kNoRow) return;
  if (part + 1 == parts) {
    WriteRest(call, memory, token, row);
  } else {
    WriteTile(call, memory, token, row, static_cast<std::int32_t>(part));
  }
}

}  // namespace

cudaError_t LaunchWriteRows(const WriteCall& call, std::uint8_t* memory,
                            const WriteRow* rows, std::size_t count,
                            cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::size_t threads =
      count * (static_cast<std::size_t>(call.rules.tiles) + 1);
  WriteRowsKernel<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads),
                    kThreads, 0, stream>>>(call, memory, rows, count);
  return cudaGetLastError();
}

}  // namespace mlafuzz::oracle
