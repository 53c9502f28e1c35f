#include "fuzz/campaign/outcome.h"

#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

constexpr char kTail[] = "writer/writer.tail=TAIL_UNCHANGED";

void AddLine(const char* kernel, const char* verdict, CaseRun* run) {
  CaseRun::Line& line = *run->add_lines();
  line.set_kernel(kernel);
  line.set_verdict(verdict);
}

TEST(Outcome, PassesWhereTheKernelWasJudged) {
  for (const char* verdict : {"pass", "uninformative"}) {
    CaseRun run;
    AddLine("gather", "unspecified", &run);
    AddLine("writer", verdict, &run);
    const auto outcome = OutcomeOf(run, kTail, "writer");
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, Outcome::kPasses);
    EXPECT_EQ(*OutcomeOf(run, "/hang", ""), Outcome::kPasses);
  }
}

// Of the writer nothing is known because the index conversion passes.
TEST(Outcome, IsNoneWhereNothingOfTheKernelWasJudged) {
  for (const char* verdict : {"unspecified", "skipped", ""}) {
    CaseRun run;
    if (*verdict != '\0') AddLine("writer", verdict, &run);
    EXPECT_EQ(OutcomeOf(run, "/hang", "").status().message(),
              "nothing was judged");
    AddLine("convert", "pass", &run);
    const auto outcome = OutcomeOf(run, kTail, "writer");
    ASSERT_TRUE(absl::IsFailedPrecondition(outcome.status()));
    EXPECT_EQ(outcome.status().message(), "nothing of writer was judged");
    EXPECT_FALSE(Judged(run, {"writer", "gather"}));
    EXPECT_TRUE(Judged(run, {"writer", "convert"}));
  }
}

TEST(Outcome, SaysWhyNothingWasJudged) {
  CaseRun run;
  AddLine("gather", "unspecified", &run);
  run.mutable_lines(0)->set_detail("gather.lengths: too long");
  EXPECT_EQ(WhyNotJudged(run),
            "step 0, gather unspecified: gather.lengths: too long");
  EXPECT_EQ(OutcomeOf(run, kTail, "gather").status().message(),
            "nothing of gather was judged: step 0, gather unspecified: "
            "gather.lengths: too long");
  CaseRun judged;
  AddLine("gather", "uninformative", &judged);
  judged.mutable_lines(0)->set_detail("right");
  EXPECT_EQ(WhyNotJudged(judged), "");
}

TEST(Outcome, TellsOneFailureFromAnother) {
  CaseRun run;
  AddLine("writer", "fail", &run);
  Failure& failure = *run.add_failures();
  failure.set_key("writer/refused");
  EXPECT_EQ(*OutcomeOf(run, kTail, "writer"), Outcome::kFailsOtherwise);
  // What else explains it is that cause too.
  failure.add_also(kTail);
  EXPECT_EQ(*OutcomeOf(run, kTail, "writer"), Outcome::kFails);
  EXPECT_EQ(*OutcomeOf(run, "writer/refused", "writer"), Outcome::kFails);
}

TEST(Outcome, IsNoneWhereTheCaseCouldNotBeRun) {
  CaseRun run;
  run.set_error("the pool needs pages");
  EXPECT_EQ(OutcomeOf(run, kTail, "writer").status(),
            absl::UnavailableError("the pool needs pages"));
}

}  // namespace
}  // namespace mlafuzz
