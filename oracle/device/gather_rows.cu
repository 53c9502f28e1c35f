#include "oracle/device/gather_rows_launch.h"

namespace mlafuzz::oracle {
namespace {

constexpr unsigned kThreads = 192;  // of 576 values three each

// A block has a row of dst.
__global__ void GatherRowsKernel(GatherCall call, std::uint8_t* memory,
                                 const GatherSource* rows) {
  const GatherSource from = rows[blockIdx.x];
  if (from.at == GatherSource::kNone) return;
  const std::int32_t parts = GatherParts(call.rules);
  for (auto part = static_cast<std::int32_t>(threadIdx.x); part < parts;
       part += static_cast<std::int32_t>(blockDim.x)) {
    GatherPart(call, memory, blockIdx.x, from, part);
  }
}

}  // namespace

cudaError_t LaunchGatherRows(const GatherCall& call, std::uint8_t* memory,
                             const GatherSource* rows, std::size_t count,
                             cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  GatherRowsKernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(
      call, memory, rows);
  return cudaGetLastError();
}

}  // namespace mlafuzz::oracle
