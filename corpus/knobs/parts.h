#ifndef MLAFUZZ_CORPUS_KNOBS_PARTS_H_
#define MLAFUZZ_CORPUS_KNOBS_PARTS_H_

#include <cstdint>
#include <cstring>

#include "corpus/image.h"
#include "corpus/knobs/list.h"
#include "corpus/token_layout.h"

namespace mlafuzz::knobs {

// What the classes of several kernels look at, and the finder of each kernel.

// Of FP8_DS_MLA. Writers and gathers have classes of its cases alone; decodes
// go by the pool's own layout.
inline constexpr std::int64_t kLatent = 512;
inline constexpr std::int64_t kScalesAt = 512;
inline constexpr std::int64_t kTailAt = 528;
inline constexpr std::int64_t kRowBytes = 656;
inline constexpr int kTiles = 4;

// Bit fields of a sixteen-bit format.
struct Format {
  int mantissa_bits;
  std::uint16_t infinity;        // pattern of +Inf
  std::uint16_t seven_quarters;  // mantissa field of 1.75 (448 = 1.75 * 2^8)
};
inline constexpr Format kBf16 = {7, 0x7f80, 0x60};
inline constexpr Format kF16 = {10, 0x7c00, 0x300};

// Rows whose values are looked at: a campaign counts classes on every case, and
// a class that only row 500 holds is of no use to anyone.
inline constexpr std::int64_t kRowsSeen = 4;

template <typename T>
T Load(const std::uint8_t* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

// Whether `count` elements of `size` bytes at [row, column 0] lie within the
// tensor's bytes.
inline bool Holds(const Tensor& t, std::int64_t row, std::int64_t count,
                  std::int64_t size) {
  return row >= 0 && (row * t.strides[0] + count) * size <=
                         static_cast<std::int64_t>(t.bytes.size());
}

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// `first` is the knob of page size 1; the others follow it in order.
inline void PageKnobs(const PoolImage& pool, int first, Found& found) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 16, 64, 128, 256};
  for (int i = 0; i < 7; ++i) {
    if (pool.page_size == kSizes[i]) found.set(first + i);
  }
}

// Whether pages lie further apart than the layout has them by itself.
inline bool PagesPadded(const PoolImage& pool) {
  if (!pool.split()) return pool.page_stride > pool.page_size * pool.row_stride;
  const std::int64_t multiple = TokenLayoutOf(pool.layout).page_multiple;
  return pool.page_stride >
         CeilDiv(pool.page_size * pool.row_bytes, multiple) * multiple;
}

inline void StrideKnobs(const PoolImage& pool, int padded_page, Found& found) {
  if (PagesPadded(pool)) found.set(padded_page);
  if (!pool.split() && pool.row_stride > pool.row_bytes) {
    found.set(padded_page + 1);
  }
  if (pool.offset > 0) found.set(padded_page + 2);
}

// Some row of the pool does not start at a multiple of 8 bytes.
inline bool PoolMisaligned(const PoolImage& pool) {
  return pool.offset % 8 != 0 ||
         (pool.page_size > 1 && pool.row_stride % 8 != 0) ||
         (pool.pages > 1 && pool.page_stride % 8 != 0);
}

// Marks the classes that one step of this kernel exercises.
void WriteKnobs(const CaseImage& image, const StepImage& step, Found& found);
void GatherKnobs(const CaseImage& image, const StepImage& step, Found& found);
void ConvertKnobs(const CaseImage& image, const StepImage& step, Found& found);
void DecodeKnobs(const CaseImage& image, const StepImage& step, Found& found);

// Whether a decode of this layout can exercise the class.
bool DecodeKnobApplies(KnobId knob, const TokenLayout& layout);

}  // namespace mlafuzz::knobs

#endif  // MLAFUZZ_CORPUS_KNOBS_PARTS_H_
