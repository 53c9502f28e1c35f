#include "oracle/layouts/page_layout.h"

namespace mlafuzz::oracle {

using Scales = PageLayout::Scales;
using Place = PageLayout::Place;

const PageLayout kRow656 = {.name = "row656",
                            .codes = 512,
                            .tile = 128,
                            .scales = Scales::kFp32LittleEndian,
                            .place = Place::kInRow,
                            .scales_at = 512,
                            .scale_entry = 0,
                            .rope_at = 528,
                            .rope = 64,
                            .row_bytes = 656,
                            .page_multiple = 1};

const PageLayout kRow528 = {.name = "row528",
                            .codes = 512,
                            .tile = 128,
                            .scales = Scales::kFp32LittleEndian,
                            .place = Place::kInRow,
                            .scales_at = 512,
                            .scale_entry = 0,
                            .rope_at = 528,
                            .rope = 0,
                            .row_bytes = 528,
                            .page_multiple = 1};

const PageLayout kFooter584 = {.name = "footer584",
                               .codes = 448,
                               .tile = 64,
                               .scales = Scales::kUe8m0,
                               .place = Place::kBehindRows,
                               .scales_at = 0,
                               .scale_entry = 8,
                               .rope_at = 448,
                               .rope = 64,
                               .row_bytes = 576,
                               .page_multiple = 576};

const PageLayout kFooter528 = {.name = "footer528",
                               .codes = 512,
                               .tile = 32,
                               .scales = Scales::kUe8m0,
                               .place = Place::kBehindRows,
                               .scales_at = 0,
                               .scale_entry = 16,
                               .rope_at = 512,
                               .rope = 0,
                               .row_bytes = 512,
                               .page_multiple = 1};

const PageLayout kIndexer132 = {.name = "indexer132",
                                .codes = 128,
                                .tile = 128,
                                .scales = Scales::kFp32LittleEndian,
                                .place = Place::kBehindRows,
                                .scales_at = 0,
                                .scale_entry = 4,
                                .rope_at = 128,
                                .rope = 0,
                                .row_bytes = 128,
                                .page_multiple = 1};

const PageLayout kIndexer264 = {.name = "indexer264",
                                .codes = 256,
                                .tile = 128,
                                .scales = Scales::kFp32LittleEndian,
                                .place = Place::kBehindRows,
                                .scales_at = 0,
                                .scale_entry = 8,
                                .rope_at = 256,
                                .rope = 0,
                                .row_bytes = 256,
                                .page_multiple = 1};

std::int64_t PageLayout::PageBytes(std::int64_t size) const {
  const std::int64_t bytes = size * (row_bytes + scale_entry);
  return (bytes + page_multiple - 1) / page_multiple * page_multiple;
}

std::int64_t PageLayout::ScaleAt(std::int64_t size, std::int64_t row, int tile,
                                 std::int64_t row_stride) const {
  const std::int64_t entry = place == Place::kInRow
                                 ? RowAt(row, row_stride)
                                 : size * row_bytes + row * scale_entry;
  return entry + scales_at + tile * scale_bytes();
}

absl::Span<const PageLayout* const> PageLayouts() {
  static constexpr const PageLayout* kAll[] = {
      &kRow656, &kRow528, &kFooter584, &kFooter528, &kIndexer132, &kIndexer264};
  return kAll;
}

}  // namespace mlafuzz::oracle
