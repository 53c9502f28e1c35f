#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

// One request of three rows from token 1 on, in pages 2 and 0 of three.
std::string Text(const std::string& pool, const std::string& gather) {
  return absl::StrCat(
      "pool { page_size: 2 pages: 3 fill { kind: RANDOM_BYTES seed: 5 } ", pool,
      " } steps { gather { block_table { rows: 1 columns: 2 pages { values: "
      "[2, 0] } } workspace_starts: 0 seq_starts: 1 dst_rows: 3 ",
      gather, " } }");
}
// Their slots.
constexpr std::int64_t kSlots[] = {5, 0, 1};

StepObservation Gathered(const std::string& target, const CaseImage& image) {
  const Observation seen = test::Run(target, image);
  EXPECT_EQ(seen.steps[0].status, CallStatus::kOk) << seen.steps[0].message;
  EXPECT_TRUE(seen.steps[0].strays.empty());
  return seen.steps[0];
}

TEST(ByteGather, CopiesRowsAsTheyAre) {
  const CaseImage image = test::Image(
      test::ParseCase(Text("row_stride: 664", "output: U8 dst_columns: 656")));
  const auto out = Gathered("builtin:byte-gather", image).outputs[0];
  ASSERT_EQ(out.size(), 3u * 656);
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(
        std::memcmp(&out[656 * row],
                    &image.pool.bytes[image.pool.RowAt(kSlots[row])], 656),
        0)
        << row;
  }
}

TEST(ByteGather, OfAFooterPageTakesBothParts) {
  const CaseImage image = test::Image(test::ParseCase(
      Text("layout: DSV4_FOOTER_584", "output: U8 dst_columns: 584")));
  const auto out = Gathered("builtin:dsv4-byte-gather", image).outputs[0];
  ASSERT_EQ(out.size(), 3u * 584);
  for (int row = 0; row < 3; ++row) {
    for (int at = 0; at < 584; ++at) {
      ASSERT_EQ(out[584 * row + at],
                image.pool.bytes[image.pool.ByteAt(kSlots[row], at)])
          << row << " " << at;
    }
  }
}

// 0x40400000 is 3.
TEST(OneScaleGather, TakesAllColumnsForCodes) {
  const CaseImage image = test::Image(
      test::ParseCase(Text("row_bytes: 576", "tensor_scale_bits: 0x40400000")));
  const auto out = Gathered("builtin:one-scale-gather", image).outputs[0];
  for (int row = 0; row < 3; ++row) {
    for (int at = 0; at < 576; ++at) {
      const double value =
          test::E4m3Value(image.pool.bytes[image.pool.RowAt(kSlots[row]) + at]);
      std::uint16_t bits;
      std::memcpy(&bits, &out[2 * (576 * row + at)], 2);
      ASSERT_EQ(bits, test::NearestBf16(static_cast<float>(3 * value)))
          << row << " " << at;
    }
  }
}

TEST(OneScaleGather, RefusesRowsWithScalesOfTheirOwn) {
  const CaseImage image =
      test::Image(test::ParseCase(Text("", "tensor_scale_bits: 0x40400000")));
  const Observation seen = test::Run("builtin:one-scale-gather", image);
  EXPECT_EQ(seen.steps[0].status, CallStatus::kRefused);
  EXPECT_EQ(seen.steps[0].message,
            "kv_cache must have rows of 576 codes under tensor_scale, got 656 "
            "bytes: FP8_DS_MLA");
}

}  // namespace
}  // namespace mlafuzz
