// What host checks of all kernels say of one tensor. Each check returns nothing
// if all is well, else its complaint in words, with the numbers.
#ifndef MLAFUZZ_KERNELS_TENSOR_CHECKS_H_
#define MLAFUZZ_KERNELS_TENSOR_CHECKS_H_

#include <cstdint>
#include <string>

#include "dlpack/dlpack.h"

namespace mlafuzz {

inline constexpr DLDataType kBf16 = {kDLBfloat, 16, 1};
inline constexpr DLDataType kFp16 = {kDLFloat, 16, 1};
inline constexpr DLDataType kFp32 = {kDLFloat, 32, 1};
inline constexpr DLDataType kInt32 = {kDLInt, 32, 1};
inline constexpr DLDataType kInt64 = {kDLInt, 64, 1};
inline constexpr DLDataType kUint8 = {kDLUInt, 8, 1};

bool Is(const DLTensor& tensor, const DLDataType& type);
// "bf16", "u8".
std::string Name(const DLDataType& type);
std::uint8_t* Data(const DLTensor& tensor);
template <class T>
T* As(const DLTensor* tensor) {
  return tensor == nullptr ? nullptr : reinterpret_cast<T*>(Data(*tensor));
}

// Is there, with so many dimensions of this type.
std::string WantShape(const char* name, const DLTensor* tensor, int ndim,
                      const DLDataType& type);
// The last dimension of a tensor with more than one column must be dense.
std::string WantDense(const char* name, const DLTensor& tensor);
// First row and strides that separate something at multiples of `alignment`
// bytes.
std::string WantAligned(const char* name, const DLTensor& tensor,
                        std::int64_t alignment);
// As many rows as `other` has.
std::string WantRows(const char* name, const DLTensor& tensor,
                     const char* other, std::int64_t rows);
// At least as many rows as slots.
std::string WantSourceRows(const char* name, const DLTensor& tensor,
                           std::int64_t slots);

// Runs a check and returns its complaint, if any.
#define MLAFUZZ_RETURN_IF_REFUSED(check)           \
  do {                                             \
    if (std::string why = (check); !why.empty()) { \
      return why;                                  \
    }                                              \
  } while (false)

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_TENSOR_CHECKS_H_
