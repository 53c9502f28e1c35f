// Each twin differs from builtin on a problem made for it, and nowhere else
// where its fault does not show.
#include "kernels/decode/mutants/mutants.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/options.h"
#include "kernels/decode/test_support.h"

namespace mlafuzz {
namespace {

using test::Answer;
using test::Problem;
using test::RandomProblem;

Answer Right(const Problem& problem) {
  return test::Run(problem, DecodeOptions());
}

bool Differs(const CompiledDecode& twin, const Problem& problem) {
  return !test::Same(test::Run(problem, twin.decode), Right(problem));
}

// All scales powers of two.
Problem Pow2Problem() {
  Problem problem = RandomProblem(1, 1, 2, 70);
  for (std::int64_t slot = 0; slot < problem.rows(); ++slot) {
    for (int tile = 0; tile < 4; ++tile) {
      std::uint8_t* scale = problem.Row(slot) + 512 + 4 * tile;
      scale[0] = scale[1] = 0;
      scale[2] &= 0x80;
    }
  }
  return problem;
}

Problem AllMasked() {
  Problem problem = RandomProblem(2, 1, 1, 64);
  std::fill(problem.indices.begin(), problem.indices.end(), -1);
  return problem;
}

TEST(DecodeMutants, Pow2Scales) {
  const Problem raw = RandomProblem(1, 1, 2, 70);
  for (const CompiledDecode& twin :
       {QkPow2Scale(), VPow2Scale(), BothPow2Scale()}) {
    EXPECT_TRUE(Differs(twin, raw)) << twin.name;
    EXPECT_FALSE(Differs(twin, Pow2Problem())) << twin.name;
  }
  // One side each: a single key's output is V alone, the LSE is K alone.
  const Problem one = RandomProblem(3, 1, 1, 1);
  const Answer right = Right(one);
  const Answer qk = test::Run(one, QkPow2Scale().decode);
  EXPECT_EQ(qk.out, right.out);
  EXPECT_NE(qk.lse, right.lse);
  const Answer v = test::Run(one, VPow2Scale().decode);
  EXPECT_NE(v.out, right.out);
  EXPECT_EQ(v.lse, right.lse);
}

TEST(DecodeMutants, CapacityFromTopk) {
  Problem problem = RandomProblem(4, 1, 1, 130);
  EXPECT_FALSE(Differs(CapacityFromTopkRefuses(), problem));
  EXPECT_FALSE(Differs(CapacityFromTopkClips(), problem));
  problem.declared_topk = 130;
  EXPECT_FALSE(Differs(CapacityFromTopkRefuses(), problem));
  EXPECT_FALSE(Differs(CapacityFromTopkClips(), problem));
  problem.declared_topk = 120;
  EXPECT_TRUE(Differs(CapacityFromTopkClips(), problem));
  const Answer refused = test::Run(problem, CapacityFromTopkRefuses().decode);
  EXPECT_EQ(refused.result.status, CallStatus::kRefused);
  EXPECT_EQ(refused.result.message,
            "expects block_tables of shape (B, 1, 120), got (B, 1, 130)");
  EXPECT_TRUE(std::all_of(refused.out.begin(), refused.out.end(),
                          [](std::uint16_t v) { return v == 0x5a5a; }));
  // Only masked lanes past the top-k: clipping them changes nothing.
  std::fill(problem.indices.begin() + 120, problem.indices.end(), -1);
  EXPECT_FALSE(Differs(CapacityFromTopkClips(), problem));
}

TEST(DecodeMutants, AllMaskedUnitWeight) {
  Problem problem = AllMasked();
  const Answer wrong = test::Run(problem, AllMaskedUnitWeight().decode);
  // The output is slot 0 as if it were the only key.
  problem.indices.assign(problem.indices.size(), -1);
  problem.indices[0] = 0;
  EXPECT_EQ(wrong.out, Right(problem).out);
  EXPECT_LT(wrong.lse[0], -9e29f);
  EXPECT_FALSE(Differs(AllMaskedUnitWeight(), problem));
}

TEST(DecodeMutants, MaskedLaneReadsSlot0) {
  Problem problem = RandomProblem(5, 1, 1, 64);
  problem.indices[7] = -1;
  std::replace(problem.indices.begin(), problem.indices.end(), 0, 1);
  EXPECT_FALSE(Differs(MaskedLaneReadsSlot0(), problem));
  EXPECT_FALSE(Differs(MaskedLaneReadsSlot0(), AllMasked()));
  problem.Row(0)[200] = 0x7f;
  EXPECT_TRUE(Differs(MaskedLaneReadsSlot0(), problem));
}

TEST(DecodeMutants, LeadingBlockNan) {
  Problem problem = RandomProblem(6, 1, 1, 128);
  problem.splits = 1;
  std::fill_n(problem.indices.begin(), 63, -1);
  EXPECT_FALSE(Differs(LeadingBlockNan(), problem));
  problem.indices[63] = -1;
  EXPECT_TRUE(Differs(LeadingBlockNan(), problem));
  EXPECT_TRUE(std::isnan(test::Run(problem, LeadingBlockNan().decode).lse[0]));
}

TEST(DecodeMutants, LengthIgnoredAbove64) {
  Problem problem = RandomProblem(7, 65, 1, 4);
  EXPECT_FALSE(Differs(LengthIgnoredAbove64(), problem));
  problem.lengths.assign(65, 3);
  EXPECT_TRUE(Differs(LengthIgnoredAbove64(), problem));
  problem = RandomProblem(7, 64, 1, 4);
  problem.lengths.assign(64, 3);
  EXPECT_FALSE(Differs(LengthIgnoredAbove64(), problem));
}

TEST(DecodeMutants, SinkDropped) {
  Problem problem = RandomProblem(8, 1, 2, 10);
  EXPECT_FALSE(Differs(SinkDropped(), problem));
  problem.sinks = {-INFINITY, -INFINITY};
  EXPECT_FALSE(Differs(SinkDropped(), problem));
  problem.sinks = {-INFINITY, 1.0f};
  EXPECT_TRUE(Differs(SinkDropped(), problem));
}

TEST(DecodeMutants, LseWrongBase) {
  const Problem problem = RandomProblem(9, 1, 2, 10);
  const Answer right = Right(problem);
  const Answer wrong = test::Run(problem, LseWrongBase().decode);
  EXPECT_EQ(wrong.out, right.out);
  EXPECT_NE(wrong.lse, right.lse);
  EXPECT_FALSE(Differs(LseWrongBase(), AllMasked()));
}

TEST(DecodeMutants, MissingRescale) {
  Problem problem = RandomProblem(10, 1, 1, 128);
  problem.splits = 1;
  // The best key first: the maximum never grows.
  std::size_t best = 0;
  float best_lse = -INFINITY;
  for (std::size_t i = 0; i < 128; ++i) {
    Problem alone = problem;
    alone.indices.assign(128, -1);
    alone.indices[i] = problem.indices[i];
    const float lse = Right(alone).lse[0];
    if (lse > best_lse) best = i;
    best_lse = std::max(best_lse, lse);
  }
  std::swap(problem.indices[0], problem.indices[best]);
  EXPECT_FALSE(Differs(MissingRescale(), problem));
  std::swap(problem.indices[0], problem.indices[127]);
  EXPECT_TRUE(Differs(MissingRescale(), problem));
  // One block a split has nothing to rescale.
  problem.splits = 2;
  EXPECT_FALSE(Differs(MissingRescale(), problem));
}

TEST(DecodeMutants, TailReadAsRope) {
  Problem problem = RandomProblem(11, 1, 1, 10, /*pe_dim=*/0);
  EXPECT_TRUE(Differs(TailReadAsRope(), problem));
  for (std::int64_t slot = 0; slot < problem.rows(); ++slot) {
    std::fill_n(problem.Row(slot) + 528, 128, 0);
  }
  EXPECT_FALSE(Differs(TailReadAsRope(), problem));
  EXPECT_FALSE(Differs(TailReadAsRope(), RandomProblem(11, 1, 1, 10)));
}

TEST(DecodeMutants, SplitPartialDropped) {
  Problem problem = RandomProblem(12, 1, 1, 128);
  EXPECT_FALSE(Differs(SplitPartialDropped(), problem));
  problem.splits = 2;
  EXPECT_TRUE(Differs(SplitPartialDropped(), problem));
  std::fill(problem.indices.begin() + 64, problem.indices.end(), -1);
  EXPECT_FALSE(Differs(SplitPartialDropped(), problem));
}

TEST(DecodeMutants, NamesAreDistinctAndPromiseWhatBuiltinDoes) {
  std::set<std::string> names;
  for (const CompiledDecode& twin : DecodeMutants()) {
    EXPECT_EQ(std::string(twin.name).rfind("mutant:", 0), 0u) << twin.name;
    EXPECT_TRUE(names.insert(twin.name).second) << twin.name;
    DecodeOptions promised;
    if (std::string(twin.name) == "mutant:e4m3-zero-sum-unguarded") {
      promised.arithmetic = DecodeArithmetic::kE4m3;
    }
    promised.lengths_demanded =
        std::string(twin.name) == "mutant:lengths-demand-dropped";
    EXPECT_EQ(twin.contract().SerializeAsString(),
              DecodeContractOf(promised).SerializeAsString())
        << twin.name;
  }
  EXPECT_EQ(names.size(), 107u);
}

}  // namespace
}  // namespace mlafuzz
