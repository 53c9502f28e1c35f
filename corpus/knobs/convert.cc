#include <algorithm>
#include <cstdint>
#include <limits>

#include "corpus/knobs/parts.h"
#include "corpus/values.h"

namespace mlafuzz::knobs {
void ConvertKnobs(const CaseImage& image, const StepImage& step, Found& found) {
  const PoolImage& pool = image.pool;
  const Tensor* ids = step.Find(TensorId::kRequestIds);
  const Tensor* table = step.Find(TensorId::kBlockTable);
  const Tensor* indices = step.Find(TensorId::kTokenIndices);
  const Tensor* out = step.Find(TensorId::kOut);
  if (ids == nullptr || table == nullptr || indices == nullptr ||
      out == nullptr) {
    return;
  }
  const std::int64_t rows = indices->shape[0];
  const std::int64_t width = indices->shape[1];
  if (ids->shape[0] != rows) {
    found.set(ids->shape[0] < rows ? kConvertTokensFewer : kConvertTokensMore);
    return;
  }
  PageKnobs(pool, kConvertPageSize1, found);
  found.set(image.source->schedule() != 0 ? kConvertScheduleOther
                                          : kConvertScheduleInOrder);
  const bool wanted = step.Find(TensorId::kValidCount) != nullptr;
  found.set(wanted ? kValidCountWanted : kValidCountNotWanted);
  if (rows == 0) {
    found.set(kConvertNoRows);
    return;
  }
  if (table->shape[0] > 1 && table->strides[0] == 0) {
    found.set(kConvertTableExpanded);
  }
  if (table->strides[0] > table->shape[1]) found.set(kConvertTableNarrowed);
  if (table->shape[0] == 1 && rows > 1) found.set(kConvertTableOneRow);
  if (indices->strides[0] > width) found.set(kConvertIndicesStrided);
  if (out->strides[0] > width) found.set(kConvertOutStrided);
  if (width == 1) found.set(kWidth1);
  if (width % 2 == 1) found.set(kWidthOdd);
  if (width == 128) found.set(kWidth128);
  if (width > 128) found.set(kWidthAbove128);

  const std::int64_t columns = table->shape[1];
  const std::int64_t limit = columns * pool.page_size;
  // Columns that the rows seen read, of the first 64 (bit c).
  std::uint64_t read_columns = 0;
  std::int64_t previous_id = -1, seen_id = -1;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t id = Load<std::int32_t>(ids->bytes.data(), r);
    if (id == previous_id) found.set(kConvertRequestsRepeated);
    if (id < previous_id) found.set(kConvertRequestsUnordered);
    previous_id = id;
    if (r >= kRowsSeen || !Holds(*indices, r, width, 4)) continue;
    const std::uint8_t* at =
        indices->bytes.data() + r * indices->strides[0] * 4;
    std::int64_t valid = 0, minus_ones = 0, last = -1;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t token = Load<std::int32_t>(at, i);
      if (token < 0) {
        if (token == -1) {
          ++minus_ones;
          if (i == 0) found.set(kIndexMinusOneFront);
          if (i + 1 == width) found.set(kIndexMinusOneBack);
          if (i > 0 && i + 1 < width) found.set(kIndexMinusOneMiddle);
        } else {
          found.set(kIndexOtherNegative);
          if (token == std::numeric_limits<std::int32_t>::min()) {
            found.set(kIndexInt32Min);
          }
        }
        continue;
      }
      if (token >= limit) {
        if (token < limit + pool.page_size) found.set(kConvertColumnPast);
        if (token >= 0x7fffff00) found.set(kIndexHuge);
        continue;
      }
      ++valid;
      const std::int64_t column = token / pool.page_size;
      if (column < 64 && (seen_id == -1 || seen_id == id)) {
        read_columns |= std::uint64_t{1} << column;
      }
      if (column + 1 == columns) found.set(kConvertColumnLast);
      if (token == 0) found.set(kIndexZero);
      if ((token + 1) % pool.page_size == 0) found.set(kIndexPageLast);
      if (token == last) found.set(kIndexRepeated);
      last = token;
    }
    if (seen_id == -1) seen_id = id;
    if (minus_ones == width) found.set(kIndexMinusOneAll);
    if (valid == 0) found.set(kValidCount0);
    if (valid == 1) found.set(kValidCount1);
    if (valid + 1 == width) found.set(kValidCountWidthMinus1);
    if (valid == width) found.set(kValidCountWidth);
  }
  // Unread entries of the first row's request.
  if (seen_id < 0 || seen_id >= table->shape[0] ||
      !Holds(*table, seen_id, columns, 4)) {
    return;
  }
  const std::uint8_t* entries =
      table->bytes.data() + seen_id * table->strides[0] * 4;
  for (std::int64_t c = 0; c < std::min<std::int64_t>(columns, 64); ++c) {
    if ((read_columns >> c & 1) != 0) continue;
    const std::int64_t page = Load<std::int32_t>(entries, c);
    if (page == -1) found.set(kConvertTableMinusOne);
    if (page >= pool.pages) found.set(kConvertTableHuge);
  }
}

}  // namespace mlafuzz::knobs
