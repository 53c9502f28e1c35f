#include "fuzz/worker/ulps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mlafuzz {
namespace {

// Distances of a bucket: up to, and including.
struct Bucket {
  std::int64_t most;
  const char* name;
};
constexpr std::array<Bucket, UlpCounts::kBuckets> kRanges = {
    {{0, "equal"},
     {1, "up to 1 ulp"},
     {3, "2 to 3"},
     {15, "4 to 15"},
     {255, "16 to 255"},
     {0xffffffff, "more"},
     {-1, "NaN or Inf"},
     {-1, "NaN of other bits"}}};

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

bool IsFloat(DType dtype) {
  return dtype == BF16 || dtype == F16 || dtype == F32;
}

}  // namespace

const char* UlpCounts::Name(std::size_t bucket) { return kRanges[bucket].name; }

std::uint64_t UlpCounts::different() const {
  return std::accumulate(counts.begin() + 1, counts.end(), std::uint64_t{0});
}

std::string UlpCounts::Text() const {
  std::string text;
  for (std::size_t i = 1; i < kRanges.size(); ++i) {
    if (counts[i] == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", counts[i],
                    kRanges[i].most < 0 ? " in " : " by ", kRanges[i].name);
  }
  absl::StrAppend(&text, "; at most ", largest, " ulp");
  return text;
}

UlpCounts CountUlps(DType dtype, absl::Span<const std::uint8_t> a,
                    absl::Span<const std::uint8_t> b) {
  UlpCounts result;
  if (!IsFloat(dtype)) return result;
  const auto size = static_cast<std::size_t>(DTypeSize(dtype));
  const std::uint32_t infinity = dtype == BF16  ? 0x7f80
                                 : dtype == F16 ? 0x7c00
                                                : 0x7f800000;
  const std::uint32_t sign = dtype == F32 ? 0x80000000u : 0x8000u;
  const auto place = [sign](std::uint32_t word) {
    const auto magnitude = static_cast<std::int64_t>(word & ~sign);
    return (word & sign) != 0 ? -magnitude : magnitude;
  };
  for (std::size_t at = 0; at + size <= std::min(a.size(), b.size());
       at += size) {
    const std::uint32_t x = Word(&a[at], static_cast<int>(size));
    const std::uint32_t y = Word(&b[at], static_cast<int>(size));
    if (x != y && ((x & ~sign) >= infinity || (y & ~sign) >= infinity)) {
      const bool both = (x & ~sign) > infinity && (y & ~sign) > infinity;
      ++result.counts[kRanges.size() - (both ? 1 : 2)];
      continue;
    }
    // Zeros of either sign are one value in place, two in bits.
    const std::int64_t distance =
        x == y ? 0 : std::max<std::int64_t>(std::abs(place(x) - place(y)), 1);
    result.largest = std::max(result.largest, distance);
    for (std::size_t i = 0; i < kRanges.size(); ++i) {
      if (distance > kRanges[i].most) continue;
      ++result.counts[i];
      break;
    }
  }
  return result;
}

std::string UlpHistogram(DType dtype, absl::Span<const std::uint8_t> a,
                         absl::Span<const std::uint8_t> b) {
  const UlpCounts counts = CountUlps(dtype, a, b);
  if (counts.different() == 0) return "";
  const auto size = static_cast<std::size_t>(DTypeSize(dtype));
  const auto first = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t at = first / size * size;
  const int digits = static_cast<int>(2 * size);
  return absl::StrFormat(
      "element %d: 0x%0*x in a, 0x%0*x in b; %d elements "
      "differ: %s",
      at / size, digits, Word(&a[at], static_cast<int>(size)), digits,
      Word(&b[at], static_cast<int>(size)), counts.different(), counts.Text());
}

}  // namespace mlafuzz
