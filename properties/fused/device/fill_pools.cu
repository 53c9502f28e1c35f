#include <algorithm>
#include <cstdint>

#include "corpus/pool_words.h"
#include "properties/fused/device/fill_pools_launch.h"

namespace mlafuzz::device {
namespace {

constexpr unsigned kThreads = 256;
// Bytes of a pool that a block has, unless the pool is so large that more
// blocks would be more than there may be.
constexpr std::uint64_t kBlockBytes = 32 << 10;
constexpr std::uint64_t kMostBlocks = 1024;
constexpr unsigned kWarp = 32;

// Blocks (p, *) have pool p.
__global__ void LayUnderKernel(const PoolToFill* pools, std::uint8_t* memory) {
  const PoolToFill& pool = pools[blockIdx.x];
  if (!pool.filling.IsLaidUnder()) return;
  const std::int64_t words = WordsUnder(pool.filling);
  const std::int64_t step = std::int64_t{gridDim.y} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.y} * kThreads + threadIdx.x;
       i < words; i += step) {
    LayUnder(pool.filling, i, memory + pool.at);
  }
}

// Likewise; a warp has a token at a time.
__global__ void LayTokensKernel(FillCall call, const PoolToFill* pools,
                                std::uint8_t* memory) {
  const PoolToFill& pool = pools[blockIdx.x];
  const auto lane = static_cast<std::int32_t>(threadIdx.x % kWarp);
  const std::int64_t warp =
      (std::int64_t{blockIdx.y} * kThreads + threadIdx.x) / kWarp;
  const std::int64_t warps = std::int64_t{gridDim.y} * kThreads / kWarp;
  const std::int32_t words = call.shape.words_a_token();
  std::uint8_t* const page_0 = memory + pool.at + pool.filling.offset;
  for (std::int64_t slot = warp; slot < pool.filling.slots; slot += warps) {
    const ValueGenerator own =
        pool.filling.words.Stream(static_cast<std::uint64_t>(slot));
    const PoolShape::Place place = call.shape.PlaceOf(slot);
    for (std::int32_t i = lane; i < words;
         i += static_cast<std::int32_t>(kWarp)) {
      LayToken(call.shape, pool.filling.fill, own, place, i, page_0);
    }
  }
}

// A block has a pool: its patches may lie over each other.
__global__ void LayPatchesKernel(const PoolToFill* pools,
                                 const PoolPatch* patches,
                                 const std::uint8_t* bytes,
                                 std::uint8_t* memory) {
  const PoolToFill& pool = pools[blockIdx.x];
  for (std::uint64_t p = 0; p < pool.patches; ++p) {
    const PoolPatch& patch = patches[pool.first_patch + p];
    for (std::uint64_t i = threadIdx.x; i < patch.count; i += blockDim.x) {
      memory[patch.at + i] = bytes[patch.from + i];
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t LaunchFillPools(const FillCall& call, const std::uint8_t* plan,
                            std::uint8_t* memory, cudaStream_t stream) {
  if (call.pools == 0) return cudaSuccess;
  const auto* const pools = reinterpret_cast<const PoolToFill*>(plan);
  const std::uint64_t blocks =
      std::clamp((call.most_bytes + kBlockBytes - 1) / kBlockBytes,
                 std::uint64_t{1}, kMostBlocks);
  const dim3 grid(static_cast<unsigned>(call.pools),
                  static_cast<unsigned>(blocks));
  LayUnderKernel<<<grid, kThreads, 0, stream>>>(pools, memory);
  LayTokensKernel<<<grid, kThreads, 0, stream>>>(call, pools, memory);
  if (call.patches > 0) {
    LayPatchesKernel<<<static_cast<unsigned>(call.pools), kWarp, 0, stream>>>(
        pools, reinterpret_cast<const PoolPatch*>(plan + call.patches_at()),
        plan + call.bytes_at(), memory);
  }
  return cudaGetLastError();
}

}  // namespace mlafuzz::device
