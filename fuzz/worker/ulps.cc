#include "fuzz/worker/ulps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mlafuzz {
namespace {

// Distances of a bucket: up to, and including.
struct Bucket {
  std::uint32_t most;
  const char* name;
};
constexpr std::array<Bucket, 5> kBuckets = {{{1, "up to 1 ulp"},
                                             {3, "2 to 3"},
                                             {15, "4 to 15"},
                                             {255, "16 to 255"},
                                             {0xffffffff, "more"}}};

std::uint32_t Word(const std::uint8_t* at, int size) {
  if (size == 2) {
    std::uint16_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

std::string UlpHistogram(DType dtype, absl::Span<const std::uint8_t> a,
                         absl::Span<const std::uint8_t> b) {
  if (dtype != BF16 && dtype != F16 && dtype != F32) return "";
  const int size = DTypeSize(dtype);
  const std::uint32_t infinity = dtype == BF16  ? 0x7f80
                                 : dtype == F16 ? 0x7c00
                                                : 0x7f800000;
  const std::uint32_t sign = dtype == F32 ? 0x80000000u : 0x8000u;
  std::array<std::size_t, kBuckets.size()> counts{};
  std::size_t differ = 0;
  std::size_t special = 0;  // one is NaN or Inf, the other another value
  std::int64_t largest = 0;
  std::string first;
  for (std::size_t at = 0;
       at + static_cast<std::size_t>(size) <= std::min(a.size(), b.size());
       at += static_cast<std::size_t>(size)) {
    const std::uint32_t x = Word(&a[at], size);
    const std::uint32_t y = Word(&b[at], size);
    if (x == y) continue;
    if (differ++ == 0) {
      first = absl::StrFormat("element %d: 0x%0*x in a, 0x%0*x in b",
                              at / static_cast<std::size_t>(size), 2 * size, x,
                              2 * size, y);
    }
    if ((x & ~sign) >= infinity || (y & ~sign) >= infinity) {
      ++special;
      continue;
    }
    const auto place = [sign](std::uint32_t word) {
      const auto magnitude = static_cast<std::int64_t>(word & ~sign);
      return (word & sign) != 0 ? -magnitude : magnitude;
    };
    const std::int64_t distance = std::abs(place(x) - place(y));
    largest = std::max(largest, distance);
    for (std::size_t i = 0; i < kBuckets.size(); ++i) {
      if (distance > kBuckets[i].most) continue;
      ++counts[i];
      break;
    }
  }
  if (differ == 0) return "";
  std::string text = absl::StrCat(first, "; ", differ, " elements differ:");
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    if (counts[i] == 0) continue;
    absl::StrAppend(&text, " ", counts[i], " by ", kBuckets[i].name, ",");
  }
  if (special != 0) absl::StrAppend(&text, " ", special, " in NaN or Inf,");
  text.back() = ';';
  absl::StrAppend(&text, " at most ", largest, " ulp");
  return text;
}

}  // namespace mlafuzz
