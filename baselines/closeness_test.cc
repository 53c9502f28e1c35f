#include "baselines/closeness.h"

#include <limits>
#include <vector>

#include "baselines/formats.h"
#include "gtest/gtest.h"

namespace mlafuzz::baselines {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(IsClose, IsRelativeToTheSecond) {
  constexpr Tolerance kTenth = {.atol = 0, .rtol = 0.125f};
  EXPECT_TRUE(IsCloseFp32(9, 8, kTenth));
  EXPECT_FALSE(IsCloseFp32(8, 7, kTenth));
  EXPECT_TRUE(IsCloseFp32(7, 8, kTenth));
  EXPECT_TRUE(IsCloseFp32(-9, -8, kTenth));
  EXPECT_FALSE(IsCloseFp32(9, -8, kTenth));
}

TEST(IsClose, SpecialValues) {
  constexpr Tolerance kWide = {.atol = 1e30f, .rtol = 1};
  EXPECT_TRUE(IsCloseFp32(kInf, kInf, kWide));
  EXPECT_FALSE(IsCloseFp32(kInf, 1, kWide));
  EXPECT_FALSE(IsCloseFp32(1, kInf, kWide));
  EXPECT_FALSE(IsCloseFp32(kNan, kNan, kWide));
  EXPECT_TRUE(IsCloseBf16(0x7f80, 0x7f80, kWide));
  EXPECT_FALSE(IsCloseBf16(0x7fc0, 0x7fc0, kWide));
  EXPECT_TRUE(IsCloseBf16(0x8000, 0x0000, {.atol = 0, .rtol = 0}));
}

// In bf16 each operation rounds, so the limit is that of rounded numbers.
TEST(IsClose, Bf16RoundsEachOperation) {
  constexpr Tolerance kTolerance = {.atol = 5e-2f, .rtol = 5e-2f};
  // Neighbours in bf16 on either side of the limit near 0.1.
  EXPECT_TRUE(IsCloseBf16(ToBf16(1.09375f), ToBf16(1), kTolerance));
  EXPECT_FALSE(IsCloseBf16(ToBf16(1.1015625f), ToBf16(1), kTolerance));
  // 0.0500488 is bf16(5e-2): an error of exactly that passes beside zero.
  EXPECT_TRUE(IsCloseBf16(ToBf16(5e-2f), 0, kTolerance));
  EXPECT_GT(FromBf16(ToBf16(5e-2f)), 5e-2f);
  EXPECT_FALSE(IsCloseBf16(static_cast<std::uint16_t>(ToBf16(5e-2f) + 1), 0,
                           kTolerance));
}

// What the writer's test allows: blind spots as they are.
TEST(WhyNotClose, BytesWithinATenth) {
  constexpr Tolerance kTolerance = {.atol = 1e-3f, .rtol = 0.1f};
  const auto close = [&](std::uint8_t actual, std::uint8_t expected) {
    return WhyNotClose("codes", absl::MakeConstSpan(&actual, 1),
                       absl::MakeConstSpan(&expected, 1), kTolerance)
        .empty();
  };
  EXPECT_TRUE(close(0x0b, 0x0a));
  EXPECT_FALSE(close(0x0a, 0x09));
  EXPECT_TRUE(close(0x72, 0x7e));
  EXPECT_FALSE(close(0xfe, 0x7e));
}

TEST(WhyNotClose, NamesTheFirst) {
  const std::vector<float> actual = {1, 2, 3};
  const std::vector<float> expected = {1, 2.5f, 4};
  EXPECT_EQ(WhyNotClose("lse", actual, expected, {.atol = 0.1f, .rtol = 0}),
            "lse[1] is 2, should be 2.5");
  EXPECT_EQ(WhyNotClose("lse", actual, expected, {.atol = 1, .rtol = 0}), "");
  const std::vector<float> two = {1, 2};
  EXPECT_NE(WhyNotClose("lse", actual, two, {.atol = 9, .rtol = 9}), "");
}

TEST(WhyNotFlashMlaClose, EitherErrorMaySuffice) {
  constexpr FlashMlaTolerance kTolerance = {0.5f, 0.25f, 1};
  const auto close = [&](float actual, float expected) {
    return WhyNotFlashMlaClose("out", absl::MakeConstSpan(&actual, 1),
                               absl::MakeConstSpan(&expected, 1), kTolerance)
        .empty();
  };
  EXPECT_TRUE(close(0.4f, 0));
  EXPECT_FALSE(close(0.5f, 0));
  EXPECT_TRUE(close(12, 10));
  EXPECT_FALSE(close(12.6f, 10));
  EXPECT_TRUE(close(kInf, kInf));
  EXPECT_FALSE(close(-kInf, kInf));
  EXPECT_TRUE(close(kNan, kNan));
  EXPECT_FALSE(close(kNan, 0));
  EXPECT_FALSE(close(0, kInf));
}

TEST(WhyNotFlashMlaClose, TheWholeTensorsCosine) {
  std::vector<float> expected(1000, 1);
  std::vector<float> actual = expected;
  for (std::size_t i = 0; i < actual.size(); i += 2) actual[i] = 1.01f;
  // 1 - 2 sum(ab) / sum(aa + bb) is 2.5e-5 here.
  EXPECT_EQ(WhyNotFlashMlaClose("out", actual, expected, {1, 1, 3e-5}), "");
  EXPECT_NE(WhyNotFlashMlaClose("out", actual, expected, {1, 1, 2e-5}), "");
  // Not asked of a tensor that is all but zero.
  std::vector<float> tiny(1000, 1e-9f);
  EXPECT_EQ(WhyNotFlashMlaClose("out", std::vector<float>(1000, 0), tiny,
                                {1, 1, 2e-5}),
            "");
}

TEST(CosineSimilarity, Definition) {
  const std::vector<float> a = {3, 4};
  const std::vector<float> b = {4, 3};
  EXPECT_DOUBLE_EQ(CosineSimilarity(a, b), 24.0 / 25);
  const std::vector<float> zero = {0, 0};
  EXPECT_FALSE(CosineSimilarity(a, zero) > 0);
  const std::vector<float> nan = {kNan, 1};
  EXPECT_FALSE(CosineSimilarity(a, nan) > 0);
}

}  // namespace
}  // namespace mlafuzz::baselines
