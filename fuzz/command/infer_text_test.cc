#include "fuzz/command/infer_text.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

InferResult Answers(std::uint32_t probes, std::uint32_t not_judged) {
  InferResult result;
  InferredKernel& kernel = *result.add_kernels();
  kernel.set_kernel("writer");
  kernel.set_target("lib:w.so");
  kernel.set_probes(probes);
  kernel.set_not_judged(not_judged);
  return result;
}

// Who answers nothing is not confirmed in anything.
TEST(InferText, SaysThatNothingWasJudged) {
  EXPECT_FALSE(AnyJudged(InferResult()));
  const InferResult none = Answers(528, 528);
  EXPECT_FALSE(AnyJudged(none));
  EXPECT_NE(InferText(none).find("528 not judged: left to the caller, or not "
                                 "implemented"),
            std::string::npos)
      << InferText(none);
  EXPECT_NE(InferText(none).find("nothing was judged"), std::string::npos);
  InferResult some = Answers(528, 527);
  EXPECT_TRUE(AnyJudged(some));
  EXPECT_EQ(InferText(some).find("nothing was judged"), std::string::npos);
  // One of two kernels is enough.
  *some.add_kernels() = none.kernels(0);
  EXPECT_TRUE(AnyJudged(some));
}

}  // namespace
}  // namespace mlafuzz
