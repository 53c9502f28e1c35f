// An index conversion on a GPU, to copy from. Build it with
//   nvcc -std=c++17 -O2 -shared -Xcompiler -fPIC -I. convert.cu -o convert.so
#include <cuda_runtime.h>

#include "kernels/target_helpers.h"

// One block a token; -1 for what is no token, or past the table.
static __global__ void Convert(const int32_t* ids, const int32_t* table,
                               int64_t table_stride, int64_t columns,
                               const int32_t* tokens, int64_t tokens_stride,
                               int32_t* out, int64_t out_stride, int64_t width,
                               int64_t page_size, int32_t* valid_count) {
  const int64_t row = blockIdx.x;
  int valid = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const int64_t token = tokens[row * tokens_stride + i];
    const int64_t column = token / page_size;
    int32_t slot = -1;
    if (token >= 0 && column < columns) {
      slot = static_cast<int32_t>(table[ids[row] * table_stride + column] *
                                      page_size +
                                  token % page_size);
      ++valid;
    }
    out[row * out_stride + i] = slot;
  }
  // One warp: its lanes' counts meet in lane 0.
  for (int distance = 16; distance > 0; distance /= 2) {
    valid += __shfl_down_sync(0xffffffffu, valid, distance);
  }
  if (threadIdx.x == 0 && valid_count != nullptr) valid_count[row] = valid;
}

template <typename T>
static T* Data(const DLTensor* t) {
  return t == nullptr ? nullptr : static_cast<T*>(t->data);
}

static int32_t ConvertCall(const MlafuzzCall* call, const MlafuzzConvert* c) {
  const int64_t rows = c->out->shape[0];
  if (rows == 0) return MLAFUZZ_OK;
  Convert<<<rows, 32, 0, static_cast<cudaStream_t>(call->stream)>>>(
      Data<int32_t>(c->request_ids), Data<int32_t>(c->block_table),
      c->block_table->strides[0], c->block_table->shape[1],
      Data<int32_t>(c->token_indices), c->token_indices->strides[0],
      Data<int32_t>(c->out), c->out->strides[0], c->out->shape[1], c->page_size,
      Data<int32_t>(c->valid_count));
  return cudaGetLastError() == cudaSuccess ? MLAFUZZ_OK : MLAFUZZ_ERROR;
}

MLAFUZZ_EXPORT_TARGET("name: 'example conversion' devices: CUDA", nullptr,
                      nullptr, ConvertCall, nullptr);
