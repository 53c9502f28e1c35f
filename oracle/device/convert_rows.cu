#include "oracle/device/convert_rows_launch.h"

namespace mlafuzz::oracle {
namespace {

constexpr unsigned kThreads = 64;

// A block has a row.
__global__ void ConvertRowsKernel(ConvertCall call, std::uint8_t* memory,
                                  unsigned long long* unsettled) {
  const std::int64_t row = blockIdx.x;
  if (call.rules.compacts) {
    if (threadIdx.x != 0) return;
    const std::int32_t open = ConvertRow(call, memory, row);
    if (open != 0) atomicAdd(unsettled, static_cast<unsigned long long>(open));
    return;
  }
  __shared__ ConvertCounts all;
  if (threadIdx.x == 0) all = {};
  __syncthreads();
  ConvertCounts own = {};
  for (std::int64_t column = threadIdx.x; column < call.width;
       column += kThreads) {
    ConvertInPlace(call, memory, row, column, &own);
  }
  atomicAdd(&all.valid, own.valid);
  atomicAdd(&all.non_negative, own.non_negative);
  if (own.unsettled != 0) {
    atomicAdd(unsettled, static_cast<unsigned long long>(own.unsettled));
  }
  __syncthreads();
  if (threadIdx.x == 0) StoreCount(call, memory, row, all);
}

}  // namespace

cudaError_t LaunchConvertRows(const ConvertCall& call, std::uint8_t* memory,
                              std::size_t count, unsigned long long* unsettled,
                              cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  ConvertRowsKernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(
      call, memory, unsettled);
  return cudaGetLastError();
}

}  // namespace mlafuzz::oracle
