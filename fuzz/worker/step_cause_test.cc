#include "fuzz/worker/step_cause.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Failure Pattern(const std::string& key) {
  Failure failure;
  failure.set_key(key);
  return failure;
}

Failure Field(const std::string& field, const std::string& also = "") {
  Failure failure = Pattern("decode/" + field + "=X");
  failure.set_field(field);
  if (!also.empty()) failure.add_also(also);
  return failure;
}

TEST(StepCause, AFieldSaysMost) {
  const StepCause cause =
      CauseOfStep({Pattern("decode/memory"), Field("a"), Field("b")},
                  /*later=*/false, CauseFilter());
  EXPECT_EQ(cause.what, StepCause::kRecord);
  EXPECT_EQ(cause.which, 1u);
}

TEST(StepCause, WithoutAFieldTheFirstSpeaksForAll) {
  const StepCause cause =
      CauseOfStep({Pattern("decode/memory"), Pattern("decode/wrong-output")},
                  /*later=*/false, CauseFilter());
  EXPECT_EQ(cause.what, StepCause::kRecord);
  EXPECT_EQ(cause.which, 0u);
}

// What an earlier step left behind, no check may have seen.
TEST(StepCause, ALaterFailureWithoutAFieldIsTheEarlierOne) {
  EXPECT_EQ(
      CauseOfStep({Pattern("decode/wrong-output"), Pattern("decode/memory")},
                  /*later=*/true, CauseFilter())
          .what,
      StepCause::kEarlier);
  const StepCause field =
      CauseOfStep({Pattern("decode/wrong-output"), Field("a")},
                  /*later=*/true, CauseFilter());
  EXPECT_EQ(field.what, StepCause::kRecord);
  EXPECT_EQ(field.which, 1u);
}

TEST(StepCause, AKnownCauseStandsForTheStep) {
  CauseFilter filter;
  filter.AddKnown("decode/memory");
  for (const bool later : {false, true}) {
    const StepCause cause =
        CauseOfStep({Field("a"), Pattern("decode/memory")}, later, filter);
    EXPECT_EQ(cause.what, StepCause::kKnown);
    EXPECT_EQ(cause.which, 1u);
  }
}

// A later step too: it says more of what is known.
TEST(StepCause, ANarrowerOneComesBeforeAnotherField) {
  CauseFilter filter;
  filter.IsNew(Kernel::kDecode, "decode-out",
               {"decode/missing-rescale", "decode/b=X"});
  for (const bool later : {false, true}) {
    const StepCause cause = CauseOfStep(
        {Field("a"), Pattern("decode/missing-rescale")}, later, filter);
    EXPECT_EQ(cause.what, StepCause::kRecord);
    EXPECT_EQ(cause.which, 1u);
  }
}

}  // namespace
}  // namespace mlafuzz
