// Each control is near the definition in double precision, and not bit for bit
// what builtin computes: else it would test nothing.
#include "kernels/decode/controls/controls.h"

#include <cmath>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "kernels/decode/test_support.h"

namespace mlafuzz {
namespace {

using test::Answer;
using test::Problem;
using test::RandomProblem;

TEST(DecodeControls, AreNearBuiltinAndNotIt) {
  std::set<std::string> names;
  for (const CompiledDecode& control : DecodeControls()) {
    SCOPED_TRACE(control.name);
    EXPECT_EQ(std::string(control.name).rfind("control:decode-", 0), 0u);
    EXPECT_TRUE(names.insert(control.name).second);
    bool differs = false;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Problem problem = RandomProblem(seed, 2, 3, 200);
      problem.splits = static_cast<std::int64_t>(seed);
      problem.sinks = {0.5f, -INFINITY, 3.0f};
      problem.indices[70] = -1;
      const Answer builtin = test::Run(problem, DecodeOptions());
      const Answer answer = test::Run(problem, control.decode);
      ASSERT_EQ(answer.result.status, CallStatus::kOk);
      for (std::size_t i = 0; i < answer.lse.size(); ++i) {
        // A scale rounded to bf16 moves logits of some units by 2^-8 of them.
        EXPECT_NEAR(answer.lse[i], builtin.lse[i], 0.1) << i;
      }
      differs |= !test::Same(answer, builtin);
    }
    EXPECT_TRUE(differs);
  }
  EXPECT_GE(names.size(), 11u);
}

TEST(DecodeControls, RowsWithoutKeysAreEmpty) {
  for (const CompiledDecode& control : DecodeControls()) {
    SCOPED_TRACE(control.name);
    Problem problem = RandomProblem(1, 1, 2, 130);
    problem.lengths = {0};
    const Answer answer = test::Run(problem, control.decode);
    for (const std::uint16_t word : answer.out) EXPECT_EQ(word, 0);
    for (const float lse : answer.lse) EXPECT_EQ(lse, -INFINITY);
  }
}

}  // namespace
}  // namespace mlafuzz
