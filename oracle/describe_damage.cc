// Damage in words: where its first element lies, and what stands there.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/bf16.h"
#include "oracle/damage.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

std::string RowPart(const PoolImage& pool, std::int64_t byte) {
  const RowLayout& layout = LayoutOf(pool.layout);
  // Rows under one scale, say, which have no parts.
  if (pool.row_bytes != layout.row_bytes) {
    return absl::StrCat("of ", pool.row_bytes);
  }
  switch (layout.PartOf(byte)) {
    case RowLayout::Part::kCodes:
      return "code";
    case RowLayout::Part::kScales:
      return "scale";
    case RowLayout::Part::kRope:
      return layout.row_bytes == kFp8DsMla.row_bytes ? "tail" : "rope";
    case RowLayout::Part::kPadding:
      return byte < layout.row_bytes ? "padding" : "past the row";
  }
  return "?";
}

}  // namespace

PoolPlace PlaceInPool(const PoolImage& pool, std::int64_t at) {
  PoolPlace place;
  const std::int64_t inside = at - pool.offset;
  if (inside < 0 || pool.page_stride <= 0 || pool.row_stride <= 0) return place;
  const std::int64_t page = std::min(inside / pool.page_stride, pool.pages - 1);
  const std::int64_t in_page = inside - page * pool.page_stride;
  const std::int64_t rows_end = pool.page_size * pool.row_part;
  if (pool.split() && in_page >= rows_end) {
    const std::int64_t entry = pool.row_bytes - pool.row_part;
    const std::int64_t token = (in_page - rows_end) / entry;
    if (token >= pool.page_size) return place;
    place.slot = page * pool.page_size + token;
    place.byte = pool.row_part + (in_page - rows_end) % entry;
    return place;
  }
  const std::int64_t row =
      std::min(in_page / pool.row_stride, pool.page_size - 1);
  const std::int64_t byte = in_page - row * pool.row_stride;
  if (byte >= pool.row_part) return place;
  place.slot = page * pool.page_size + row;
  place.byte = byte;
  return place;
}

std::string DescribeFirst(const CaseImage& image, int step, Bytes pool_before,
                          const Expectation& expected, const AfterImage& after,
                          const Region& region) {
  if (region.at < 0) return "";
  const std::size_t at = static_cast<std::size_t>(region.at);
  if (region.tensor < 0) {
    const PoolPlace place = PlaceInPool(image.pool, region.at);
    const std::uint8_t want = ExpectedPool(expected, pool_before)[at];
    const std::uint8_t got = after.pool[at];
    if (place.slot < 0) {
      return absl::StrFormat(
          "pool byte %d (%s): expected 0x%02x, got 0x%02x",
          region.at - image.pool.offset,
          region.at < image.pool.offset ? "before page 0" : "between rows",
          want, got);
    }
    return absl::StrFormat("slot %d byte %d (%s): expected 0x%02x, got 0x%02x",
                           place.slot, place.byte,
                           RowPart(image.pool, place.byte), want, got);
  }
  const Tensor& tensor = image.steps[static_cast<std::size_t>(step)]
                             .tensors[static_cast<std::size_t>(region.tensor)];
  const std::vector<std::uint8_t>& want = expected.outputs[region.tensor];
  const Bytes got = after.outputs[region.tensor];
  const std::int64_t size = DTypeSize(tensor.dtype);
  const std::int64_t element = region.at / size;
  const std::int64_t stride = tensor.strides[0];
  const std::int64_t row = stride > 0 ? element / stride : 0;
  const std::int64_t column = stride > 0 ? element % stride : element;
  const std::string where =
      tensor.ndim == 1 ? absl::StrCat(TensorName(tensor.id), "[", element, "]")
                       : absl::StrCat(TensorName(tensor.id), " row ", row,
                                      " column ", column);
  const std::size_t start = static_cast<std::size_t>(element * size);
  if (size == 4 && tensor.dtype == F32 && start + 4 <= want.size()) {
    const auto a = LoadBytes<std::uint32_t>(want.data() + start);
    const auto b = LoadBytes<std::uint32_t>(got.data() + start);
    return absl::StrFormat("%s: expected 0x%08x (%g), got 0x%08x (%g)", where,
                           a, std::bit_cast<float>(a), b,
                           std::bit_cast<float>(b));
  }
  if (size == 4 && start + 4 <= want.size()) {
    return absl::StrFormat("%s: expected %d, got %d", where,
                           LoadBytes<std::int32_t>(want.data() + start),
                           LoadBytes<std::int32_t>(got.data() + start));
  }
  if (size == 2 && start + 2 <= want.size()) {
    const std::uint16_t a = LoadBytes<std::uint16_t>(want.data() + start);
    const std::uint16_t b = LoadBytes<std::uint16_t>(got.data() + start);
    return absl::StrFormat("%s: expected 0x%04x (%g), got 0x%04x (%g)", where,
                           a, Bf16Value(a), b, Bf16Value(b));
  }
  return absl::StrFormat("%s byte %d: expected 0x%02x, got 0x%02x", where,
                         region.at, want[at], got[at]);
}

}  // namespace mlafuzz::oracle
