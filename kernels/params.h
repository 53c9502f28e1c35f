// Parameters of the kernels, as the device gets them: pointers and numbers.
#ifndef MLAFUZZ_KERNELS_PARAMS_H_
#define MLAFUZZ_KERNELS_PARAMS_H_

#include <cstdint>

namespace mlafuzz::kernels {

// Rows of 16-bit values into slots of the pool.
struct WriterParams {
  const std::uint16_t* kv_c;
  const std::uint16_t* k_pe;  // null: the rows carry no rope
  const std::int64_t* slots;
  std::uint8_t* cache;
  std::int64_t tokens;
  std::int64_t kv_c_row_stride;  // elements
  std::int64_t k_pe_row_stride;  // elements
  std::int64_t page_stride;      // bytes
  std::int64_t row_stride;       // bytes
  std::int64_t page_size;        // rows
  std::int64_t pool_slots;       // rows of all pages
  bool fp16;                     // kv_c is fp16, else bf16
  std::uint64_t timing;          // simt::Perturb()
  bool pow2_scale;               // the scale is 2^ceil of max(amax / 448, 1e-4)
  // kv_c and k_pe once more, where they are fp32; strides as above.
  const float* kv_c_fp32;
  const float* k_pe_fp32;
};

// Rows of the pool into a bf16 workspace.
struct GatherParams {
  const std::uint8_t* cache;
  std::uint16_t* dst;
  const std::int32_t* table;
  const std::int32_t* starts;
  const std::int32_t* seq_lens;    // null: lengths follow from the starts
  const std::int32_t* seq_starts;  // null: all 0
  std::int64_t requests;
  std::int64_t dst_rows;
  std::int64_t dst_row_stride;  // elements
  std::int64_t table_row_stride;
  std::int64_t table_columns;
  std::int64_t page_stride;  // bytes
  std::int64_t row_stride;   // bytes
  std::int64_t page_size;    // rows
  std::uint64_t timing;      // simt::Perturb()
  bool nope;                 // the rows carry no rope: the tail is zero
  float tensor_scale;        // of the whole cache; 0: none given
  std::int64_t token_bytes;  // the cache's last dimension
};

// Token numbers of requests into slots of the pool.
struct ConvertParams {
  const std::int32_t* request_ids;
  const std::int32_t* table;
  const std::int32_t* tokens;
  std::int32_t* out;
  std::int32_t* valid_count;  // null: not asked for
  std::int64_t rows;
  std::int64_t width;
  std::int64_t table_row_stride;
  std::int64_t table_columns;
  std::int64_t tokens_row_stride;
  std::int64_t out_row_stride;
  std::int64_t page_size;  // rows
  // Null: no workspace.
  const std::int32_t* prefill_ids;
  const std::int32_t* prefill_starts;
};

}  // namespace mlafuzz::kernels

#endif  // MLAFUZZ_KERNELS_PARAMS_H_
