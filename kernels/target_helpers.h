// Addressing for C++ libraries that implement kernels/target.h. Optional, and
// no arithmetic: what is to be judged is the library's own.
#ifndef MLAFUZZ_KERNELS_TARGET_HELPERS_H_
#define MLAFUZZ_KERNELS_TARGET_HELPERS_H_

#include <cstdint>

#include "kernels/target.h"

namespace mlafuzz {

// Element (i, j, k) of a tensor with elements of type T.
template <typename T>
T* At(const DLTensor* tensor, int64_t i, int64_t j = 0, int64_t k = 0) {
  int64_t at = i * tensor->strides[0];
  if (tensor->ndim > 1) at += j * tensor->strides[1];
  if (tensor->ndim > 2) at += k * tensor->strides[2];
  return static_cast<T*>(tensor->data) + at;
}

// Byte 0 of a slot's row in a cache [pages, page_size, row_bytes].
inline uint8_t* CacheRow(const DLTensor* cache, int64_t slot) {
  return At<uint8_t>(cache, slot / cache->shape[1], slot % cache->shape[1]);
}

}  // namespace mlafuzz

// Exports a target; null for kernels that the library does not have.
#define MLAFUZZ_EXPORT_TARGET(description, write, gather, convert, decode) \
  extern "C" const MlafuzzTarget* mlafuzz_target(void) {                   \
    static const MlafuzzTarget target = {sizeof(MlafuzzTarget),            \
                                         MLAFUZZ_TARGET_ABI,               \
                                         (description),                    \
                                         (write),                          \
                                         (gather),                         \
                                         (convert),                        \
                                         (decode)};                        \
    return &target;                                                        \
  }                                                                        \
  static_assert(true, "")

#endif  // MLAFUZZ_KERNELS_TARGET_HELPERS_H_
