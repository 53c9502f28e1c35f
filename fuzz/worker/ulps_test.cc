#include "fuzz/worker/ulps.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

template <typename T>
std::vector<std::uint8_t> BytesOf(const std::vector<T>& words) {
  std::vector<std::uint8_t> bytes(words.size() * sizeof(T));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

TEST(UlpHistogram, CountsByDistance) {
  using Words = std::vector<std::uint16_t>;
  // Equal; next; across zero (two steps); far; NaN against a number.
  const auto a = BytesOf(Words{0x3f80, 0x3f80, 0x0001, 0x3f80, 0x7fc0, 0x8000});
  const auto b = BytesOf(Words{0x3f80, 0x3f81, 0x8001, 0x4080, 0x3f80, 0x0000});
  EXPECT_EQ(
      UlpHistogram(BF16, a, b),
      "element 1: 0x3f80 in a, 0x3f81 in b; 5 elements differ: 2 by "
      "up to 1 ulp, 1 by 2 to 3, 1 by more, 1 in NaN or Inf; at most 256 ulp");
  EXPECT_EQ(UlpHistogram(BF16, a, a), "");
}

TEST(UlpHistogram, Fp32AndOtherTypes) {
  const auto a = BytesOf(std::vector<std::uint32_t>{0x3f800000});
  const auto b = BytesOf(std::vector<std::uint32_t>{0x3f80000a});
  EXPECT_EQ(UlpHistogram(F32, a, b),
            "element 0: 0x3f800000 in a, 0x3f80000a in b; 1 elements differ: 1 "
            "by 4 to 15; at most 10 ulp");
  EXPECT_EQ(UlpHistogram(I32, a, b), "");
}

TEST(UlpCounts, CountsWhatIsEqualToo) {
  const auto a = BytesOf(std::vector<std::uint16_t>{1, 2, 3, 0x7fc0, 0x7fc0});
  const auto b = BytesOf(std::vector<std::uint16_t>{1, 3, 30, 0x7fc0, 0xffc1});
  const UlpCounts counts = CountUlps(BF16, a, b);
  EXPECT_EQ(counts.counts, (std::array<std::uint64_t, UlpCounts::kBuckets>{
                               2, 1, 0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(counts.largest, 27);
  EXPECT_EQ(CountUlps(I32, a, b).different(), 0u);
}

}  // namespace
}  // namespace mlafuzz
