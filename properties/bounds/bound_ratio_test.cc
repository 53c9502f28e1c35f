#include "properties/bounds/bound_ratio.h"

#include <memory>

#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(BoundRatioTest, DistanceToWord) {
  // 1.0 stands for [1 - 2^-9, 1 + 2^-8].
  EXPECT_EQ(DistanceToWord(1.0, 0x3f80), 0);
  EXPECT_EQ(DistanceToWord(1 + 0x1p-8, 0x3f80), 0);
  EXPECT_EQ(DistanceToWord(1 - 0x1p-9, 0x3f80), 0);
  EXPECT_EQ(DistanceToWord(1 + 0x1p-7, 0x3f80), 0x1p-8);
  EXPECT_EQ(DistanceToWord(1 - 0x1p-8, 0x3f80), 0x1p-9);
  EXPECT_EQ(DistanceToWord(-1 - 0x1p-7, 0xbf80), 0x1p-8);
  EXPECT_EQ(DistanceToWord(1.0, 0xbf80), 2 - 0x1p-9);
  // Zeros stand for half the least number on either side.
  EXPECT_EQ(DistanceToWord(0x1p-134, 0x0000), 0);
  EXPECT_EQ(DistanceToWord(-0x1p-134, 0x0000), 0);
  EXPECT_EQ(DistanceToWord(-0x1p-133, 0x8000), 0x1p-134);
  // The largest number.
  const double largest = 255 * 0x1p120;
  EXPECT_EQ(DistanceToWord(largest + 0x1p119, 0x7f7f), 0);
  EXPECT_EQ(DistanceToWord(largest + 0x1p120, 0x7f7f), 0x1p119);
}

Case SomeCase() {
  absl::StatusOr<Case> c = ParseCaseText(R"pb(
    pool {
      page_size: 4
      pages: 2
      fill { kind: FINITE_ROWS seed: 3 }
    }
    steps {
      decode {
        queries: 1
        heads: 1
        q { pattern: NORMAL_RANGE seed: 1 }
        indices { rows: 1 width: 8 valid: 8 limit: 8 }
        softmax_scale_bits: 0x3d2aaaab
      }
    })pb");
  EXPECT_TRUE(c.ok()) << c.status();
  return *c;
}

// A right kernel lies within its bounds, and not on the oracle's very value; a
// wrong one does not.
TEST(BoundRatioTest, TellsRightFromWrong) {
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  const auto measure = [&](const char* target) {
    absl::StatusOr<BoundRatio> ratio =
        MeasureBoundRatio(*MakeTargetSet(target), *executor, SomeCase());
    EXPECT_TRUE(ratio.ok()) << ratio.status();
    return *ratio;
  };
  const BoundRatio right = measure("builtin");
  EXPECT_LE(right.out, 1);
  EXPECT_LE(right.lse, 1);
  EXPECT_GT(right.lse, 0);
  EXPECT_EQ(right.open, 0);
  EXPECT_GT(measure("mutant:qk-pow2-scale").lse, 100);
  EXPECT_GT(measure("mutant:v-pow2-scale").out, 100);
  EXPECT_GT(measure("mutant:lse-wrong-base").lse, 100);
}

}  // namespace
}  // namespace mlafuzz
