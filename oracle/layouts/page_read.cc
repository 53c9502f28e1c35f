#include "oracle/layouts/page_read.h"

#include <bit>
#include <cstddef>

#include "oracle/bf16.h"
#include "oracle/e4m3.h"

namespace mlafuzz::oracle {
namespace {

float LoadScale(const PageRead& read, const std::uint8_t* from) {
  if (read.layout->scales == PageLayout::Scales::kUe8m0) {
    return Ue8m0Value(*from, read.ue8m0);
  }
  std::uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= std::uint32_t{from[i]} << (8 * i);
  return std::bit_cast<float>(bits);
}

// How much of a page its tokens take.
std::int64_t UsedBytes(const PageRead& read) {
  const PageLayout& layout = *read.layout;
  return layout.place == PageLayout::Place::kBehindRows
             ? read.page_size * (layout.row_bytes + layout.scale_entry)
             : layout.RowAt(read.page_size - 1, read.row_stride) +
                   layout.row_bytes;
}

void ReadToken(const PageRead& read, const std::uint8_t* page, std::int64_t row,
               std::uint16_t* to) {
  const PageLayout& layout = *read.layout;
  const auto& value = E4m3Values(E4m3Reading::kFn);
  const std::uint8_t* codes = page + layout.RowAt(row, read.row_stride);
  for (int i = 0; i < layout.codes; ++i) {
    const float scale = LoadScale(
        read, page + layout.ScaleAt(read.page_size, row, i / layout.tile,
                                    read.row_stride));
    const float product = value[codes[i]] * scale;
    *to++ = Bf16FromFloat(product, Rounding::kNearestEven);
  }
  for (int i = 0; i < layout.rope; ++i) {
    const std::uint8_t* from = page + layout.RopeAt(row, i, read.row_stride);
    *to++ = static_cast<std::uint16_t>(from[0] | from[1] << 8);
  }
}

}  // namespace

bool ReadPages(const PageRead& read, absl::Span<std::uint16_t> values) {
  const PageLayout& layout = *read.layout;
  const std::size_t columns = static_cast<std::size_t>(layout.codes) +
                              static_cast<std::size_t>(layout.rope);
  if (read.row_stride != 0 && layout.place == PageLayout::Place::kBehindRows) {
    return false;
  }
  if (values.size() < read.slots.size() * columns) return false;
  const std::int64_t room =
      static_cast<std::int64_t>(read.pool.size()) - UsedBytes(read);
  for (const std::int64_t slot : read.slots) {
    if (slot < 0 || room < 0 ||
        slot / read.page_size > room / read.page_stride) {
      return false;
    }
  }
  for (std::size_t i = 0; i < read.slots.size(); ++i) {
    const std::int64_t slot = read.slots[i];
    ReadToken(read, read.pool.data() + slot / read.page_size * read.page_stride,
              slot % read.page_size, values.data() + i * columns);
  }
  return true;
}

}  // namespace mlafuzz::oracle
