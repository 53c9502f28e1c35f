// The gather: rows of the pool, dequantised to bf16, into a dense workspace.
//
// How it works:
//   1. A task is one page of one request: the rows of the request's token
//      range that lie in it. Tasks count request by request, page by page; one
//      block takes one task, and the grid has ceil(rows / page) + 2 * requests
//      blocks, which covers all tasks of ranges that add up to `rows`. Tasks
//      past that are dropped, as in the native kernel.
//   2. Lane 0 finds the block's task and tells the others through shared
//      memory. Of many requests a warp skips those before it.
//   3. One warp takes a row at a time: four lanes stage its scales in shared
//      memory, then each lane converts two chunks of 8 codes and copies 4
//      bytes of the tail.
//
// GatherPolicy holds the decisions. A wrong twin derives from it and overrides
// one.
#ifndef MLAFUZZ_KERNELS_GATHER_CUH_
#define MLAFUZZ_KERNELS_GATHER_CUH_

#include <cstdint>

#include "kernels/codec.cuh"
#include "kernels/layout.h"
#include "kernels/params.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {
inline namespace SIMT_BACKEND {

inline constexpr int kGatherWarps = 4;

// A page of a request: workspace rows first .. first + count - 1 come from rows
// `offset` .. of page `page`.
struct GatherTask {
  std::int64_t first;
  std::int64_t count;  // 0: the block has nothing to do
  std::int64_t page;
  std::int64_t offset;
};

// Two codes (the low 16 bits of `codes`) to two bf16 values.
__device__ inline unsigned TwoValues(unsigned codes, float scale) {
  return FloatToBf16(__fmul_rn(E4m3ToFloat(codes), scale)) |
         FloatToBf16(__fmul_rn(E4m3ToFloat(codes >> 8), scale)) << 16;
}

struct GatherPolicy {
  // Synchronisations after which the host backend stops a launch; what does not
  // end on a GPU is stopped by whoever watches the process.
  static constexpr std::uint64_t kSyncLimit = simt::Config{}.sync_limit;

  // Host: blocks of the grid.
  static std::int64_t Blocks(const GatherParams& params) {
    return (params.dst_rows + params.page_size - 1) / params.page_size +
           2 * params.requests;
  }

  static __device__ std::int64_t TableRowStride(const GatherParams& params) {
    return params.table_row_stride;
  }

  // First workspace row of a request, and one past the last of its rows where
  // no lengths are given. Starts past the workspace mean its end, as in the
  // native kernel.
  static __device__ std::int64_t Start(const GatherParams& params,
                                       std::int64_t request) {
    if (request == params.requests) return params.dst_rows;
    const std::int64_t start = params.starts[request];
    if (params.seq_lens != nullptr) return start;
    return start < params.dst_rows ? start : params.dst_rows;
  }

  template <class Policy>
  static __device__ std::int64_t Length(const GatherParams& params,
                                        std::int64_t request) {
    const std::int64_t length = params.seq_lens != nullptr
                                    ? params.seq_lens[request]
                                    : Policy::Start(params, request + 1) -
                                          Policy::Start(params, request);
    return length > 0 ? length : 0;
  }

  // Pages of tokens begin .. end - 1, of which there are `length`. An empty
  // request that starts inside a page has one too, as in the native kernel; it
  // reads nothing.
  static __device__ std::int64_t Pages(std::int64_t begin, std::int64_t end,
                                       std::int64_t page_size) {
    return (end + page_size - 1) / page_size - begin / page_size;
  }

  // Whether a request of so many pages is not that of `task`, which counts from
  // its first.
  static __device__ bool IsPast(std::int64_t task, std::int64_t pages) {
    return task >= pages;
  }

  // Column of the block table with a request's page number `task`.
  static __device__ std::int64_t Column(std::int64_t first_page,
                                        std::int64_t task) {
    return first_page + task;
  }

  // Changes what was found, if anything.
  static __device__ GatherTask Found(const GatherParams&, GatherTask found) {
    return found;
  }

  static __device__ const std::uint8_t* Row(const GatherParams& params,
                                            std::int64_t page,
                                            std::int64_t row) {
    return params.cache + page * params.page_stride + row * params.row_stride;
  }

  // Between finding the block's task and using it.
  static __device__ void PublishTask() { __syncthreads(); }
  // Between staging a row's scales and using them.
  static __device__ void PublishScales() { __syncwarp(); }
  // Between using them and staging the next row's.
  static __device__ void ReleaseScales() { __syncwarp(); }

  static __device__ float Scale(const std::uint8_t* row, unsigned tile) {
    return reinterpret_cast<const float*>(row + kScaleAt)[tile];
  }

  // Of codes 8 * chunk .. 8 * chunk + 7.
  static __device__ unsigned TileOf(unsigned chunk) {
    return chunk / (kTile / 8);
  }

  // Two codes (the low 16 bits of `codes`) to two values of the workspace.
  static __device__ unsigned Values(unsigned codes, float scale) {
    return TwoValues(codes, scale);
  }

  // Tail bytes 4 * lane .. 4 * lane + 3 of a row, as two workspace columns.
  static __device__ unsigned TailPair(const std::uint8_t* row, unsigned lane,
                                      bool nope) {
    if (nope) return 0;
    return reinterpret_cast<const unsigned*>(row + kTailAt)[lane];
  }

  // Values 8 * chunk .. 8 * chunk + 7 of a workspace row.
  static __device__ void StoreValues(std::uint16_t* out, unsigned chunk,
                                     uint4 values) {
    reinterpret_cast<uint4*>(out)[chunk] = values;
  }

  static __device__ void StoreTail(std::uint16_t* out, unsigned lane,
                                   unsigned pair, bool /*nope*/) {
    reinterpret_cast<unsigned*>(out + kLatent)[lane] = pair;
  }
};

template <class Policy>
__device__ inline std::int64_t TasksOf(const GatherParams& params,
                                       std::int64_t request) {
  const std::int64_t begin =
      params.seq_starts != nullptr ? params.seq_starts[request] : 0;
  const std::int64_t end =
      begin + Policy::template Length<Policy>(params, request);
  return Policy::Pages(begin, end, params.page_size);
}

// Task number `task` of requests `request` .. requests - 1.
template <class Policy>
__device__ inline GatherTask FindTask(const GatherParams& params,
                                      std::int64_t task,
                                      std::int64_t request = 0) {
  for (; request < params.requests; ++request) {
    const std::int64_t length =
        Policy::template Length<Policy>(params, request);
    const std::int64_t begin =
        params.seq_starts != nullptr ? params.seq_starts[request] : 0;
    const std::int64_t end = begin + length;
    const std::int64_t first_page = begin / params.page_size;
    const std::int64_t pages = Policy::Pages(begin, end, params.page_size);
    if (Policy::IsPast(task, pages)) {
      task -= pages;
      continue;
    }
    if (length == 0) break;
    const std::int64_t page_begin = (first_page + task) * params.page_size;
    const std::int64_t page_end = page_begin + params.page_size;
    const std::int64_t from = begin > page_begin ? begin : page_begin;
    const std::int64_t to = end < page_end ? end : page_end;
    GatherTask found;
    found.first = Policy::Start(params, request) + (from - begin);
    found.count = to - from;
    found.page = params.table[request * Policy::TableRowStride(params) +
                              Policy::Column(first_page, task)];
    found.offset = from - page_begin;
    return Policy::Found(params, found);
  }
  return {0, 0, 0, 0};
}

// More requests than this are looked through by a warp: one lane would need
// longer than all rows do.
inline constexpr std::int64_t kManyRequests = 64;

// The first request of those, kept side by side, that the block's task may be
// of; *task then counts from it. By all lanes of the first warp.
template <class Policy>
__device__ inline std::int64_t SkipRequests(const GatherParams& params,
                                            std::int64_t* task) {
  constexpr int kLanes = 32;
  constexpr unsigned kAll = 0xffffffffu;
  const std::int64_t each = (params.requests + kLanes - 1) / kLanes;
  const std::int64_t begin = each * threadIdx.x;
  const std::int64_t end =
      begin + each < params.requests ? begin + each : params.requests;
  long long tasks = 0;
  for (std::int64_t request = begin; request < end; ++request) {
    tasks += TasksOf<Policy>(params, request);
  }
  // In one go: the first lane whose requests reach past the task.
  long long before = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const long long its = __shfl_sync(kAll, tasks, lane);
    if (Policy::IsPast(*task - before, its)) {
      before += its;
      continue;
    }
    *task -= before;
    return each * lane;
  }
  return params.requests;
}

// Has the first lane find the block's task, number `task` of requests `request`
// and on, and tells the others through `shared`, four numbers.
template <class Policy>
__device__ inline GatherTask ShareTask(const GatherParams& params,
                                       std::int64_t task, std::int64_t request,
                                       std::int64_t* shared) {
  if (threadIdx.x == 0) {
    const GatherTask found = FindTask<Policy>(params, task, request);
    shared[0] = found.first;
    shared[1] = found.count;
    shared[2] = found.page;
    shared[3] = found.offset;
  }
  Policy::PublishTask();
  return {shared[0], shared[1], shared[2], shared[3]};
}

// The same where there may be many requests.
template <class Policy>
__device__ inline GatherTask BlockTask(const GatherParams& params,
                                       std::int64_t* shared) {
  std::int64_t task = blockIdx.x;
  std::int64_t request = 0;
  if (params.requests > kManyRequests && threadIdx.x < 32) {
    request = SkipRequests<Policy>(params, &task);
  }
  return ShareTask<Policy>(params, task, request, shared);
}

// Eight codes to values 8 * chunk .. 8 * chunk + 7 of a workspace row.
template <class Policy>
__device__ __forceinline__ void StoreChunk(std::uint16_t* out, unsigned chunk,
                                           uint2 codes, float scale) {
  Policy::StoreValues(out, chunk,
                      make_uint4(Policy::Values(codes.x, scale),
                                 Policy::Values(codes.x >> 16, scale),
                                 Policy::Values(codes.y, scale),
                                 Policy::Values(codes.y >> 16, scale)));
}

// One block a task, up to kGatherWarps warps.
template <class Policy>
__global__ void __launch_bounds__(kGatherWarps * 32)
    GatherRows(GatherParams params) {
  __shared__ std::int64_t shared_task[4];
  __shared__ float shared_scales[kGatherWarps][kTiles];
  const GatherTask task = BlockTask<Policy>(params, shared_task);
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  float* scales = shared_scales[warp];
  for (std::int64_t i = warp; i < task.count; i += warps) {
    const std::uint8_t* row = Policy::Row(params, task.page, task.offset + i);
    std::uint16_t* out = params.dst + (task.first + i) * params.dst_row_stride;
    simt::Perturb(params.timing, 0);
    if (lane < kTiles) scales[lane] = Policy::Scale(row, lane);
    Policy::PublishScales();
    simt::Perturb(params.timing, 1);
    for (unsigned chunk = lane; chunk < kLatent / 8; chunk += 32) {
      const uint2 codes = reinterpret_cast<const uint2*>(row)[chunk];
      const float scale = scales[Policy::TileOf(chunk)];
      StoreChunk<Policy>(out, chunk, codes, scale);
    }
    Policy::StoreTail(out, lane, Policy::TailPair(row, lane, params.nope),
                      params.nope);
    Policy::ReleaseScales();
  }
}

// A block a task; rows and requests are at least 1. `kernel`: what does one.
template <class Policy, class Kernel>
simt::LaunchResult LaunchTasks(const GatherParams& params, simt::Stream stream,
                               simt::Schedule schedule, const Kernel& kernel) {
  const std::int64_t blocks = Policy::Blocks(params);
  if (blocks == 0) return {};
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(blocks));
  // No task has more rows than a page, or than there are.
  std::int64_t warps = kGatherWarps;
  if (params.page_size < warps) warps = params.page_size;
  if (params.dst_rows < warps) warps = params.dst_rows;
  config.block = dim3(static_cast<unsigned>(32 * warps));
  config.stream = stream;
  config.schedule = schedule;
  config.sync_limit = Policy::kSyncLimit;
  return simt::launch(config, kernel, params);
}

template <class Policy>
simt::LaunchResult LaunchGather(const GatherParams& params, simt::Stream stream,
                                simt::Schedule schedule) {
  return LaunchTasks<Policy>(params, stream, schedule, GatherRows<Policy>);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_GATHER_CUH_
