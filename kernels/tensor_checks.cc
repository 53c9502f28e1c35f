#include "kernels/tensor_checks.h"

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

std::int64_t Bytes(const DLTensor& tensor) { return tensor.dtype.bits / 8; }

}  // namespace

bool Is(const DLTensor& tensor, const DLDataType& type) {
  return tensor.dtype.code == type.code && tensor.dtype.bits == type.bits &&
         tensor.dtype.lanes == type.lanes;
}

std::string Name(const DLDataType& type) {
  const char* kind = "?";
  switch (type.code) {
    case kDLInt:
      kind = "i";
      break;
    case kDLUInt:
      kind = "u";
      break;
    case kDLFloat:
      kind = "f";
      break;
    case kDLBfloat:
      kind = "bf";
      break;
    default:
      break;
  }
  std::string name = absl::StrCat(kind, type.bits);
  if (type.lanes != 1) absl::StrAppend(&name, "x", type.lanes);
  return name;
}

std::uint8_t* Data(const DLTensor& tensor) {
  return static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
}

std::string WantShape(const char* name, const DLTensor* tensor, int ndim,
                      const DLDataType& type) {
  if (tensor == nullptr) return absl::StrCat(name, " is missing");
  if (tensor->ndim != ndim) {
    return absl::StrCat(name, " must have ", ndim, " dimensions, got ",
                        tensor->ndim);
  }
  if (!Is(*tensor, type)) {
    return absl::StrCat(name, " must be ", Name(type), ", got ",
                        Name(tensor->dtype));
  }
  return "";
}

std::string WantDense(const char* name, const DLTensor& tensor) {
  const int last = tensor.ndim - 1;
  if (tensor.shape[last] <= 1 || tensor.strides[last] == 1) return "";
  return absl::StrCat(name, " must have stride 1 in its last dimension, got ",
                      tensor.strides[last]);
}

std::string WantAligned(const char* name, const DLTensor& tensor,
                        std::int64_t alignment) {
  if (tensor.shape[0] == 0) return "";
  const std::int64_t base =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(Data(tensor)) %
                                static_cast<std::uintptr_t>(alignment));
  if (base != 0) {
    return absl::StrCat(name, " must be ", alignment,
                        "-byte aligned, its first row is ", base, " bytes off");
  }
  static constexpr const char* kRows[] = {"row", "row"};
  static constexpr const char* kPages[] = {"page", "row"};
  const bool paged = tensor.ndim == 3;
  for (int i = 0; i < tensor.ndim - 1; ++i) {
    const std::int64_t stride = tensor.strides[i] * Bytes(tensor);
    if (tensor.shape[i] > 1 && stride % alignment != 0) {
      return absl::StrCat(name, " ", paged ? kPages[i] : kRows[i],
                          " stride must be a multiple of ", alignment,
                          " bytes, got ", stride);
    }
  }
  return "";
}

std::string WantRows(const char* name, const DLTensor& tensor,
                     const char* other, std::int64_t rows) {
  if (tensor.shape[0] == rows) return "";
  return absl::StrCat(name, " has ", tensor.shape[0], " rows, ", other, " ",
                      rows);
}

std::string WantSourceRows(const char* name, const DLTensor& tensor,
                           std::int64_t slots) {
  if (tensor.shape[0] >= slots) return "";
  return absl::StrCat(name, " has ", tensor.shape[0], " rows, slot_mapping ",
                      slots);
}

}  // namespace mlafuzz
