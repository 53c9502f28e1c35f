// The gather of the indexer's K cache: codes and scales of requests' tokens by
// block table, copied as they are. Eight lanes take one row of the output: each
// finds its request and copies every eighth word of its codes.
//
// IndexerGatherPolicy holds the decisions. A wrong twin derives from it and
// overrides one.
#ifndef MLAFUZZ_KERNELS_LAYOUTS_INDEXER_GATHER_CUH_
#define MLAFUZZ_KERNELS_LAYOUTS_INDEXER_GATHER_CUH_

#include <cstdint>

#include "kernels/layouts/formats.h"
#include "kernels/simt/simt.h"

namespace mlafuzz::kernels {

struct IndexerGatherParams {
  const std::uint8_t* cache;
  std::uint8_t* codes;         // [rows, kCodes]
  unsigned* scales;            // [rows, kCodes / kTile] fp32, dense
  const std::int32_t* table;   // [requests, ...]
  const std::int32_t* starts;  // [requests + 1]
  std::int64_t requests;
  std::int64_t rows;
  std::int64_t codes_row_stride;  // bytes
  std::int64_t table_row_stride;
  std::int64_t page_stride;  // bytes
  std::int64_t page_size;
  std::uint64_t timing;  // simt::Perturb()
};

inline namespace SIMT_BACKEND {

template <class F>
struct IndexerGatherPolicy {
  using Format = F;

  static __device__ std::int64_t TableRowStride(
      const IndexerGatherParams& params) {
    return params.table_row_stride;
  }
  // Where codes are read that stand at `row`.
  static __device__ const std::uint8_t* Codes(const std::uint8_t* row) {
    return row;
  }
  static __device__ const std::uint8_t* Row(const std::uint8_t* page,
                                            std::int64_t row) {
    return page + row * Format::kRowBytes;
  }
  static __device__ const std::uint8_t* Entry(const IndexerGatherParams& params,
                                              const std::uint8_t* page,
                                              std::int64_t row) {
    return page + params.page_size * Format::kRowBytes +
           row * Format::kEntryBytes;
  }
  // The first of row `row`'s scales in the output.
  static __device__ unsigned* Scales(const IndexerGatherParams& params,
                                     std::int64_t row) {
    return params.scales + row * (Format::kCodes / Format::kTile);
  }
  // The request that owns a row; -1 if none does, and the row is left alone.
  static __device__ int Owner(const IndexerGatherParams& params,
                              std::int64_t row) {
    for (std::int64_t request = 0; request < params.requests; ++request) {
      if (row >= params.starts[request] && row < params.starts[request + 1]) {
        return static_cast<int>(request);
      }
    }
    return -1;
  }
};

// Lanes of a row, and rows of a block.
inline constexpr unsigned kRowLanes = 8;
inline constexpr unsigned kBlockRows = 8;

template <class Policy>
__global__ void __launch_bounds__(kRowLanes* kBlockRows)
    GatherIndexerRows(IndexerGatherParams params) {
  using Format = typename Policy::Format;
  const std::int64_t row =
      std::int64_t{blockIdx.x} * kBlockRows + threadIdx.x / kRowLanes;
  const unsigned lane = threadIdx.x % kRowLanes;
  if (row >= params.rows) return;
  const int request = Policy::Owner(params, row);
  if (request < 0) return;
  simt::Perturb(params.timing, 0);
  const std::int64_t token = row - params.starts[request];
  const std::int64_t page =
      params.table[request * Policy::TableRowStride(params) +
                   token / params.page_size];
  const std::uint8_t* from = params.cache + page * params.page_stride;
  const std::int64_t in_page = token % params.page_size;
  const unsigned* codes = reinterpret_cast<const unsigned*>(
      Policy::Codes(Policy::Row(from, in_page)));
  unsigned* out =
      reinterpret_cast<unsigned*>(params.codes + row * params.codes_row_stride);
  for (unsigned i = lane; i < Format::kCodes / 4; i += kRowLanes) {
    out[i] = codes[i];
  }
  simt::Perturb(params.timing, 1);
  if (lane < Format::kCodes / Format::kTile) {
    Policy::Scales(params, row)[lane] = reinterpret_cast<const unsigned*>(
        Policy::Entry(params, from, in_page))[lane];
  }
}

// Rows and requests are at least 1.
template <class Policy>
simt::LaunchResult LaunchIndexerGather(const IndexerGatherParams& params,
                                       simt::Stream stream,
                                       simt::Schedule schedule) {
  simt::Config config;
  config.grid =
      dim3(static_cast<unsigned>((params.rows + kBlockRows - 1) / kBlockRows));
  config.block = dim3(kRowLanes * kBlockRows);
  config.stream = stream;
  config.schedule = schedule;
  return simt::launch(config, GatherIndexerRows<Policy>, params);
}

}  // namespace SIMT_BACKEND
}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_LAYOUTS_INDEXER_GATHER_CUH_
