#include "oracle/layouts/page_write.h"

#include <algorithm>
#include <bit>

#include "oracle/layouts/ue8m0.h"
#include "oracle/quantise.h"

namespace mlafuzz::oracle {
namespace {

bool Skips(const WriterContract& contract, std::int64_t slot) {
  switch (contract.slots()) {
    case WriterContract::NEGATIVE_SKIPPED:
      return slot < 0;
    case WriterContract::MINUS_ONE_SKIPPED:
      return slot == -1;
    default:
      return false;
  }
}

// Whole pages that a pool of `size` bytes has.
std::int64_t PagesOf(const PageWrite& write, std::size_t size) {
  const std::int64_t beyond = static_cast<std::int64_t>(size) -
                              write.layout->PageBytes(write.page_size);
  return beyond < 0 ? 0 : beyond / write.page_stride + 1;
}

void StoreScale(PageLayout::Scales kind, float scale, std::uint8_t* to) {
  if (kind == PageLayout::Scales::kUe8m0) {
    *to = Ue8m0FromPow2(scale);
    return;
  }
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale);
  for (int i = 0; i < 4; ++i) {
    to[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
}

void WriteToken(const Quantiser& quantiser, const PageWrite& write,
                std::int64_t token, std::int64_t row, std::uint8_t* page) {
  const PageLayout& layout = *write.layout;
  if (layout.place == PageLayout::Place::kBehindRows) {
    std::fill_n(
        page + layout.ScaleAt(write.page_size, row, 0) - layout.scales_at,
        layout.scale_entry, std::uint8_t{0});
  }
  for (int tile = 0; tile < layout.tiles(); ++tile) {
    const std::size_t size = static_cast<std::size_t>(layout.tile);
    const auto x = write.latent.subspan(
        static_cast<std::size_t>(token * write.stride + tile * layout.tile),
        size);
    const float scale = quantiser.TileScale(quantiser.TileAmax(write.input, x));
    StoreScale(layout.scales, scale,
               page + layout.ScaleAt(write.page_size, row, tile));
    quantiser.TileCodes(write.input, x, scale,
                        {page + layout.RowAt(row) + tile * layout.tile, size});
  }
  for (int i = 0; i < layout.rope; ++i) {
    const std::uint16_t value =
        write.rope[static_cast<std::size_t>(token * write.rope_stride + i)];
    std::uint8_t* to = page + layout.RopeAt(row, i);
    to[0] = static_cast<std::uint8_t>(value);
    to[1] = static_cast<std::uint8_t>(value >> 8);
  }
}

}  // namespace

bool WritePages(const WriterContract& contract, const PageWrite& write,
                absl::Span<std::uint8_t> pool) {
  if (contract.slots() == WriterContract::SLOTS_UNSPECIFIED ||
      (write.layout->scales == PageLayout::Scales::kUe8m0 &&
       contract.scale() != WriterContract::POW2_CEIL)) {
    return false;
  }
  const std::int64_t pages = PagesOf(write, pool.size());
  for (std::int64_t token = 0; token < write.tokens; ++token) {
    const std::int64_t slot = write.slots[static_cast<std::size_t>(token)];
    if (Skips(contract, slot)) continue;
    if (slot < 0 || slot / write.page_size >= pages) return false;
  }
  const Quantiser quantiser(contract);
  for (std::int64_t token = 0; token < write.tokens; ++token) {
    const std::int64_t slot = write.slots[static_cast<std::size_t>(token)];
    if (Skips(contract, slot)) continue;
    WriteToken(quantiser, write, token, slot % write.page_size,
               pool.data() + slot / write.page_size * write.page_stride);
  }
  return true;
}

}  // namespace mlafuzz::oracle
