#ifndef MLAFUZZ_ORACLE_TENSOR_VIEW_H_
#define MLAFUZZ_ORACLE_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "corpus/image.h"

namespace mlafuzz::oracle {

template <typename T>
T LoadBytes(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void StoreBytes(T value, std::uint8_t* at) {
  std::memcpy(at, &value, sizeof value);
}

// Elements of a tensor's storage by flat number, never outside it.
template <typename T>
class Storage {
 public:
  explicit Storage(const Tensor* tensor)
      : bytes_(tensor == nullptr ? nullptr : tensor->bytes.data()),
        size_(tensor == nullptr ? 0
                                : static_cast<std::int64_t>(
                                      tensor->bytes.size() / sizeof(T))) {}

  bool Has(std::int64_t element) const {
    return element >= 0 && element < size_;
  }
  T operator[](std::int64_t element) const {
    return LoadBytes<T>(bytes_ +
                        element * static_cast<std::int64_t>(sizeof(T)));
  }
  std::int64_t size() const { return size_; }

 private:
  const std::uint8_t* bytes_;
  std::int64_t size_;
};

// shape[0] of a tensor; 0 where there is none.
inline std::int64_t Length(const Tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->shape[0];
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_TENSOR_VIEW_H_
