#include "oracle/explain_parts.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "oracle/e4m3.h"
#include "oracle/layouts/ue8m0.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {

float CodeValue(std::uint8_t code) {
  return E4m3Values(E4m3Reading::kFn)[code];
}

std::uint32_t ScaleBits(const RowLayout& layout, const std::uint8_t* bytes) {
  return layout.scale_bytes == 1 ? *bytes : LoadBytes<std::uint32_t>(bytes);
}

float ScaleValue(const RowLayout& layout, std::uint32_t bits) {
  return layout.scale_bytes == 1
             ? Ue8m0Value(static_cast<std::uint8_t>(bits), {})
             : std::bit_cast<float>(bits);
}

std::string From(const PoolImage& pool, const char* source) {
  return pool.layout == FP8_DS_MLA ? absl::StrCat(" (", source, ")") : "";
}

}  // namespace mlafuzz::oracle
