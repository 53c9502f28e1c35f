#include "fuzz/worker/reach_mode.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

// Compared with a kernel that promises something else, a right one would differ
// as well.
TEST(RightTwin, PromisesWhatTheMutantDoes) {
  int mutants = 0;
  for (const TargetInfo& info : AllTargets()) {
    if (!absl::StartsWith(info.name, "mutant:")) continue;
    ++mutants;
    const auto wrong = MakeTargetSet(info.name);
    ASSERT_TRUE(wrong.ok()) << info.name;
    const auto right = RightTwin(*wrong, info.replaces);
    ASSERT_TRUE(right.ok()) << info.name;
    for (const Kernel kernel : kAllKernels) {
      EXPECT_TRUE(absl::StartsWith(right->For(kernel)->name(), "builtin"))
          << info.name;
      EXPECT_EQ(right->For(kernel)->contract().SerializeAsString(),
                wrong->For(kernel)->contract().SerializeAsString())
          << info.name << ", " << KernelName(kernel);
    }
  }
  EXPECT_GT(mutants, 20);
}

TEST(LeftTheSame, SeesBytesAndEndingsAndNoWords) {
  Observation a;
  a.steps.resize(2);
  a.steps[1].outputs = {{}, {1, 2}};
  Observation b = a;
  b.steps[0].message = "in other words";
  EXPECT_TRUE(LeftTheSame(a, b));
  b.steps[1].outputs[1][1] = 3;
  EXPECT_FALSE(LeftTheSame(a, b));
  b = a;
  b.steps[0].status = CallStatus::kRefused;
  EXPECT_FALSE(LeftTheSame(a, b));
  b = a;
  b.steps[0].pool = std::vector<std::uint8_t>{7};
  EXPECT_FALSE(LeftTheSame(a, b));
  b = a;
  b.steps[1].strays.push_back({std::nullopt, -1, -1, 1});
  EXPECT_FALSE(LeftTheSame(a, b));
  b = a;
  b.steps.pop_back();
  EXPECT_FALSE(LeftTheSame(a, b));
}

}  // namespace
}  // namespace mlafuzz
