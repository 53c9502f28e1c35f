// A conversion on a GPU that is right, but for two tokens: number 13 is a store
// to address 16, and number 14 becomes slot 0.
#include <cuda_runtime.h>

#include "kernels/target_helpers.h"

namespace {

constexpr int64_t kBadAccess = 13;
constexpr int64_t kWrong = 14;

__global__ void Convert(const int32_t* ids, const int32_t* table,
                        int64_t table_stride, int64_t columns,
                        const int32_t* tokens, int64_t tokens_stride,
                        int32_t* out, int64_t out_stride, int64_t width,
                        int64_t page_size) {
  const int64_t row = blockIdx.x;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const int64_t token = tokens[row * tokens_stride + i];
    if (token == kBadAccess) *reinterpret_cast<volatile int*>(16) = 1;
    const int64_t column = token / page_size;
    int32_t slot = -1;
    if (token >= 0 && column < columns) {
      slot = static_cast<int32_t>(table[ids[row] * table_stride + column] *
                                      page_size +
                                  token % page_size);
    }
    out[row * out_stride + i] = token == kWrong ? 0 : slot;
  }
}

template <typename T>
T* Data(const DLTensor* t) {
  return static_cast<T*>(t->data);
}

int32_t ConvertCall(const MlafuzzCall* call, const MlafuzzConvert* c) {
  const int64_t rows = c->out->shape[0];
  if (rows == 0) return MLAFUZZ_OK;
  Convert<<<rows, 32, 0, static_cast<cudaStream_t>(call->stream)>>>(
      Data<int32_t>(c->request_ids), Data<int32_t>(c->block_table),
      c->block_table->strides[0], c->block_table->shape[1],
      Data<int32_t>(c->token_indices), c->token_indices->strides[0],
      Data<int32_t>(c->out), c->out->strides[0], c->out->shape[1],
      c->page_size);
  return cudaGetLastError() == cudaSuccess ? MLAFUZZ_OK : MLAFUZZ_ERROR;
}

}  // namespace

MLAFUZZ_EXPORT_TARGET("name: 'odd tokens' devices: CUDA", nullptr, nullptr,
                      ConvertCall, nullptr);
