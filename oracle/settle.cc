#include "oracle/settle.h"

#include <algorithm>
#include <cstring>

#include "oracle/bf16.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/token_place.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

bool BothNan32(const std::uint8_t* a, const std::uint8_t* b) {
  return IsNanBits(LoadBytes<std::uint32_t>(a)) &&
         IsNanBits(LoadBytes<std::uint32_t>(b));
}
bool BothNan16(const std::uint8_t* a, const std::uint8_t* b) {
  return IsBf16Nan(LoadBytes<std::uint16_t>(a)) &&
         IsBf16Nan(LoadBytes<std::uint16_t>(b));
}

}  // namespace

bool LeavesScaleNanOpen(const Contract& contract) {
  return contract.writer().nan() == WriterContract::NAN_POISONS_SCALE;
}
bool LeavesValueNanOpen(const Contract& contract) {
  return contract.gather().nan() == GatherContract::NAN_ANY;
}

std::vector<std::uint8_t> SettleScales(const PoolImage& pool, Bytes expected,
                                       Bytes got) {
  std::vector<std::uint8_t> out(got.begin(), got.end());
  const RowLayout& layout = LayoutOf(pool.layout);
  // One byte has one NaN.
  if (layout.scale_kind == RowLayout::Scales::kUe8m0) return out;
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    for (int tile = 0; tile < layout.tiles(); ++tile) {
      const std::size_t at = static_cast<std::size_t>(
          PlaceOf(pool, slot)
              .ByteAt(layout, layout.scales_at + tile * layout.scale_bytes));
      if (at + 4 <= out.size() &&
          BothNan32(expected.data() + at, out.data() + at)) {
        std::memcpy(out.data() + at, expected.data() + at, 4);
      }
    }
  }
  return out;
}

// Columns of codes come first.
std::vector<std::uint8_t> SettleValues(std::int64_t codes, const Tensor& dst,
                                       Bytes expected, Bytes got) {
  std::vector<std::uint8_t> out(got.begin(), got.end());
  if (DTypeSize(dst.dtype) != 2) return out;
  const std::int64_t columns = std::min<std::int64_t>(dst.shape[1], codes);
  for (std::int64_t row = 0; row < dst.shape[0]; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::size_t at =
          static_cast<std::size_t>(2 * (row * dst.strides[0] + column));
      if (at + 2 <= out.size() &&
          BothNan16(expected.data() + at, out.data() + at)) {
        std::memcpy(out.data() + at, expected.data() + at, 2);
      }
    }
  }
  return out;
}

}  // namespace mlafuzz::oracle
