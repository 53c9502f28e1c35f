// An index conversion on a GPU that is right whenever it is called, and wrong
// in a graph: the host memory that it copies its parameters from holds others
// by the time the graph runs.
#include <cuda_runtime.h>

#include "kernels/target_helpers.h"

namespace {

struct Params {
  const std::int32_t* ids;
  const std::int32_t* table;
  std::int64_t table_stride;
  std::int64_t columns;
  const std::int32_t* tokens;
  std::int64_t tokens_stride;
  std::int32_t* out;
  std::int64_t out_stride;
  std::int64_t width;
  std::int64_t page_size;
  std::int32_t* valid_count;
};

__device__ Params device_params;
Params host_params;

// One block a token.
__global__ void Convert() {
  const Params& p = device_params;
  const std::int64_t row = blockIdx.x;
  int valid = 0;
  for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
    const std::int64_t token = p.tokens[row * p.tokens_stride + i];
    const std::int64_t column = token / p.page_size;
    std::int32_t slot = -1;
    if (token >= 0 && column < p.columns) {
      const std::int64_t page = p.table[p.ids[row] * p.table_stride + column];
      slot =
          static_cast<std::int32_t>(page * p.page_size + token % p.page_size);
      ++valid;
    }
    p.out[row * p.out_stride + i] = slot;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    valid += __shfl_down_sync(0xffffffffu, valid, distance);
  }
  if (threadIdx.x == 0 && p.valid_count != nullptr) p.valid_count[row] = valid;
}

template <typename T>
T* Data(const DLTensor* t) {
  return t == nullptr ? nullptr : static_cast<T*>(t->data);
}

std::int32_t ConvertCall(const MlafuzzCall* call, const MlafuzzConvert* c) {
  const std::int64_t rows = c->out->shape[0];
  if (rows == 0) return MLAFUZZ_OK;
  const auto stream = static_cast<cudaStream_t>(call->stream);
  host_params = {Data<std::int32_t>(c->request_ids),
                 Data<std::int32_t>(c->block_table),
                 c->block_table->strides[0],
                 c->block_table->shape[1],
                 Data<std::int32_t>(c->token_indices),
                 c->token_indices->strides[0],
                 Data<std::int32_t>(c->out),
                 c->out->strides[0],
                 c->out->shape[1],
                 c->page_size,
                 Data<std::int32_t>(c->valid_count)};
  // Pageable memory: a plain copy has it before this returns.
  cudaMemcpyToSymbolAsync(device_params, &host_params, sizeof host_params, 0,
                          cudaMemcpyHostToDevice, stream);
  Convert<<<static_cast<unsigned>(rows), 32, 0, stream>>>();
  host_params.width = 0;
  return cudaGetLastError() == cudaSuccess ? MLAFUZZ_OK : MLAFUZZ_ERROR;
}

}  // namespace

MLAFUZZ_EXPORT_TARGET("name: 'stale in graphs' devices: CUDA", nullptr, nullptr,
                      ConvertCall, nullptr);
