#include <algorithm>

#include "oracle/device/decode_rows.h"
#include "oracle/device/decode_rows_launch.h"

namespace mlafuzz::oracle {
namespace {

constexpr int kThreads = 128;

// The threads of a block.
struct BlockTeam {
  template <class F>
  MLAFUZZ_ORACLE_CODE void For(int n, const F& f) const {
#ifdef __CUDA_ARCH__
    for (int i = static_cast<int>(threadIdx.x); i < n;
         i += static_cast<int>(blockDim.x)) {
      f(i);
    }
    __syncthreads();
#endif
  }
  template <class F>
  MLAFUZZ_ORACLE_CODE void One(const F& f) const {
#ifdef __CUDA_ARCH__
    if (threadIdx.x == 0) f();
    __syncthreads();
#endif
  }
  MLAFUZZ_ORACLE_CODE void Together() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
};

// A block has one row at a time.
__global__ void __launch_bounds__(kThreads)
    DecodeRowsKernel(DecodeCall call, const std::uint8_t* memory,
                     const std::uint8_t* left, const char* plan, char* scratch,
                     std::uint64_t room_bytes, DecodeTold* told) {
  __shared__ DecodeShared shared;
  DecodeRoom room;
  LayRoom(call.most, scratch + room_bytes * blockIdx.x, &room);
  const auto* const queries = reinterpret_cast<const DecodeQuery*>(plan);
  const auto heads = static_cast<std::uint64_t>(call.rules.heads);
  const BlockTeam team;
  for (std::uint64_t row = blockIdx.x; row < call.queries * heads;
       row += gridDim.x) {
    DecodeRow<BlockTeam>(
        team, call.rules, memory, left, queries[row / heads],
        static_cast<int>(row % heads),
        reinterpret_cast<const DecodeKey*>(plan + call.keys_at()),
        reinterpret_cast<const KeyRange*>(plan + call.blocks_at()),
        reinterpret_cast<const DecodeSplit*>(plan + call.splits_at()), room,
        &shared)
        .Run(call.with_checksum, told + row);
    team.Together();
  }
}

}  // namespace

cudaError_t DecodeRooms(int device, std::uint64_t rows,
                        std::uint64_t room_bytes, std::uint64_t most_bytes,
                        std::uint64_t* rooms) {
  int processors = 0, blocks = 0;
  cudaError_t error = cudaDeviceGetAttribute(
      &processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, DecodeRowsKernel, kThreads, 0);
  }
  if (error != cudaSuccess) return error;
  const std::uint64_t at_once = static_cast<std::uint64_t>(processors) *
                                static_cast<std::uint64_t>(blocks);
  *rooms = std::max<std::uint64_t>(
      1, std::min({rows, at_once, most_bytes / room_bytes}));
  return cudaSuccess;
}

cudaError_t LaunchDecodeRows(const DecodeCall& call, const std::uint8_t* memory,
                             const std::uint8_t* left, const char* plan,
                             char* scratch, std::uint64_t rooms,
                             DecodeTold* told, cudaStream_t stream) {
  if (call.rows() == 0) return cudaSuccess;
  DecodeRoom room;
  const std::uint64_t room_bytes = LayRoom(call.most, nullptr, &room);
  DecodeRowsKernel<<<static_cast<unsigned>(rooms), kThreads, 0, stream>>>(
      call, memory, left, plan, scratch, room_bytes, told);
  return cudaGetLastError();
}

}  // namespace mlafuzz::oracle
