#include "kernels/decode/decode.h"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/decode/test_support.h"

namespace mlafuzz {
namespace {

using kernels::ScaleRule;
using test::Answer;
using test::Problem;
using test::RandomProblem;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Variant {
  const char* name;
  DecodeOptions options;
};

const Variant kVariants[] = {
    {"Bf16", {}},
    {"Bf16Partials", {.bf16_partials = true}},
    {"E4m3", {.arithmetic = DecodeArithmetic::kE4m3}},
    {"E4m3TwoPass", {.arithmetic = DecodeArithmetic::kE4m3TwoPass}},
    {"FlashMla",
     {.qk_scale = ScaleRule::kBf16,
      .v_scale = ScaleRule::kBf16,
      .lse_base_e = true,
      .sink_in_lse = false,
      .empty_plus_inf = true}},
    {"QkPow2", {.qk_scale = ScaleRule::kPow2Floor}},
    {"VPow2",
     {.arithmetic = DecodeArithmetic::kE4m3TwoPass,
      .v_scale = ScaleRule::kPow2Floor}},
};

class DecodeTest : public testing::TestWithParam<Variant> {
 protected:
  const DecodeOptions& options() const { return GetParam().options; }

  void ExpectRight(const Problem& problem) {
    test::ExpectNear(test::Run(problem, options()),
                     test::Reference(problem, options()));
  }
};

INSTANTIATE_TEST_SUITE_P(All, DecodeTest, testing::ValuesIn(kVariants),
                         [](const auto& info) { return info.param.name; });

TEST_P(DecodeTest, Widths) {
  for (std::int64_t width : {0, 1, 2, 31, 63, 64, 65, 128, 200, 600}) {
    SCOPED_TRACE(width);
    ExpectRight(
        RandomProblem(1 + static_cast<std::uint64_t>(width), 1, 1, width));
  }
}

TEST_P(DecodeTest, QueriesAndHeads) {
  ExpectRight(RandomProblem(2, 3, 2, 70));
  ExpectRight(RandomProblem(3, 1, 16, 5));
}

TEST_P(DecodeTest, WithoutRopeTheTailIsIgnored) {
  Problem problem = RandomProblem(4, 2, 2, 40, /*pe_dim=*/0);
  ExpectRight(problem);
  const Answer before = test::Run(problem, options());
  for (std::int64_t slot = 0; slot < problem.rows(); ++slot) {
    std::fill_n(problem.Row(slot) + 528, 128, 0xff);
  }
  EXPECT_TRUE(test::Same(test::Run(problem, options()), before));
}

TEST_P(DecodeTest, AnyNumberOfSplits) {
  Problem problem = RandomProblem(5, 1, 2, 300);  // 5 blocks
  for (std::int64_t splits : {1, 2, 3, 4, 5, 6, 1000}) {
    SCOPED_TRACE(splits);
    problem.splits = splits;
    ExpectRight(problem);
  }
  // One block a split, however many are asked for.
  problem.splits = 5;
  const Answer five = test::Run(problem, options());
  problem.splits = 1'000'000'000'000;
  EXPECT_TRUE(test::Same(test::Run(problem, options()), five));
  // Eight blocks a split unless asked.
  problem.splits = 1;
  const Answer one = test::Run(problem, options());
  problem.splits = 0;
  EXPECT_TRUE(test::Same(test::Run(problem, options()), one));
}

// 9 blocks are a split of 8 and one of 1, as 16 blocks cut in two of which the
// last 7 are masked: the same bits.
TEST_P(DecodeTest, EightBlocksASplitUnlessAsked) {
  Problem nine = RandomProblem(23, 1, 1, 9 * 64);
  Problem sixteen = nine;
  sixteen.width = 16 * 64;
  sixteen.indices.resize(16 * 64, -1);
  sixteen.splits = 2;
  EXPECT_TRUE(
      test::Same(test::Run(nine, options()), test::Run(sixteen, options())));
  nine.splits = 2;  // cut evenly: 4 and 5
  ExpectRight(nine);
}

TEST_P(DecodeTest, MaskedLanesAnywhere) {
  const Problem whole = RandomProblem(6, 1, 1, 200);
  struct {
    const char* where;
    std::int64_t first, last, step;
  } const masks[] = {{"front", 0, 130, 1},       {"middle", 50, 150, 1},
                     {"back", 100, 200, 1},      {"scattered", 0, 200, 3},
                     {"all but one", 1, 200, 1}, {"all", 0, 200, 1}};
  for (const auto& mask : masks) {
    for (std::int64_t splits : {1, 2, 4}) {
      SCOPED_TRACE(mask.where + std::to_string(splits));
      Problem problem = whole;
      problem.splits = splits;
      for (std::int64_t i = mask.first; i < mask.last; i += mask.step) {
        problem.indices[static_cast<std::size_t>(i)] =
            i % 2 == 0 ? -1 : std::numeric_limits<std::int32_t>::min();
      }
      ExpectRight(problem);
    }
  }
}

TEST_P(DecodeTest, Lengths) {
  for (std::int32_t length : {-7, 0, 1, 63, 64, 65, 150, 0x7fffffff}) {
    SCOPED_TRACE(length);
    Problem problem = RandomProblem(7, 2, 1, 150);
    problem.lengths = {length, 100};
    // What stands past the length may be anything.
    for (std::int64_t i = std::max(length, 0); i < 150; ++i) {
      problem.indices[static_cast<std::size_t>(i)] = 0x7fffffff;
    }
    ExpectRight(problem);
  }
}

TEST_P(DecodeTest, Sinks) {
  for (float sink : {-kInf, -1e30f, -3.0f, 0.0f, 2.5f, 60.0f, 1e4f, kInf}) {
    SCOPED_TRACE(sink);
    Problem problem = RandomProblem(8, 1, 2, 100);
    problem.splits = 2;
    problem.sinks = {sink, 1.0f};
    ExpectRight(problem);
    std::fill(problem.indices.begin(), problem.indices.end(), -1);
    ExpectRight(problem);
  }
}

TEST_P(DecodeTest, SinkAtMinusInfinityIsNone) {
  Problem problem = RandomProblem(9, 1, 2, 70);
  const Answer none = test::Run(problem, options());
  problem.sinks = {-kInf, -kInf};
  EXPECT_TRUE(test::Same(test::Run(problem, options()), none));
}

TEST_P(DecodeTest, HotLogits) {
  Problem problem = RandomProblem(10, 1, 1, 130);
  problem.softmax_scale = 1.0f;
  ExpectRight(problem);
  problem.softmax_scale = -0.5f;
  ExpectRight(problem);
  problem.softmax_scale = 0.0f;
  ExpectRight(problem);
}

TEST_P(DecodeTest, DuplicatesCountEachTime) {
  Problem problem = RandomProblem(11, 1, 1, 128);
  std::fill(problem.indices.begin(), problem.indices.end(), 3);
  ExpectRight(problem);
}

TEST_P(DecodeTest, SchedulesDoNotMatter) {
  Problem problem = RandomProblem(12, 2, 1, 130);
  problem.splits = 2;
  problem.indices[5] = -1;
  problem.sinks = {0.5f};
  const Answer first = test::Run(problem, options());
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(test::Same(
        test::Run(problem, options(), i * 0x9e3779b97f4a7c15u), first))
        << i;
  }
}

TEST_P(DecodeTest, UnreferencedRowsDoNotMatter) {
  Problem problem = RandomProblem(13, 1, 1, 100);
  for (std::size_t i = 0; i < problem.indices.size(); ++i) {
    std::int32_t& index = problem.indices[i];
    if (i % 3 == 0) index = -1;  // and so no row 0
    if (index == 0 || index > 60) index = 61;
  }
  const Answer before = test::Run(problem, options());
  EXPECT_EQ(before.result.status, CallStatus::kOk);
  for (int byte : {0xff, 0x7f, 0x00}) {
    for (std::int64_t slot = 0; slot < problem.rows(); ++slot) {
      if (slot == 0 || slot > 61) {
        std::fill_n(problem.Row(slot), 656, static_cast<std::uint8_t>(byte));
      }
    }
    EXPECT_TRUE(test::Same(test::Run(problem, options()), before)) << byte;
  }
}

TEST_P(DecodeTest, NoPoolIsReadWhenAllIsMasked) {
  Problem problem = RandomProblem(14, 1, 1, 64);
  std::fill(problem.indices.begin(), problem.indices.end(), -1);
  problem.cache.clear();
  ExpectRight(problem);
}

TEST_P(DecodeTest, OneNanInAUsedRowShows) {
  const Problem clean = RandomProblem(15, 1, 1, 70);
  for (int byte : {7, 515, 529}) {  // a code, a scale, a rope value
    Problem problem = clean;
    std::uint8_t* row = problem.Row(problem.indices[66]);
    row[byte] = 0x7f;
    if (byte != 7) row[byte - 1] = 0xff;
    const Answer answer = test::Run(problem, options());
    EXPECT_TRUE(std::isnan(answer.lse[0])) << byte;
    for (std::uint16_t value : answer.out) ASSERT_EQ(value, 0x7fff) << byte;
  }
}

TEST_P(DecodeTest, ZeroQueryGivesTheNumberOfKeys) {
  Problem problem = RandomProblem(16, 1, 1, 128);
  std::fill(problem.q.begin(), problem.q.end(), 0);
  const float lse = test::Run(problem, options()).lse[0];
  EXPECT_EQ(lse, options().lse_base_e ? 7 * 0.693147180559945309f : 7.0f);
}

}  // namespace
}  // namespace mlafuzz
