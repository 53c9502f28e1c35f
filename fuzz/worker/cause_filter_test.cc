#include "fuzz/worker/cause_filter.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(CauseFilter, EachCauseIsNewOnce) {
  CauseFilter filter;
  ASSERT_TRUE(filter.ShouldDiagnose(Kernel::kWriter, "p"));
  EXPECT_TRUE(filter.IsNew(Kernel::kWriter, "p", {"a"}));
  ASSERT_TRUE(filter.ShouldDiagnose(Kernel::kWriter, "p"));
  EXPECT_FALSE(filter.IsNew(Kernel::kWriter, "p", {"a"}));
  ASSERT_TRUE(filter.ShouldDiagnose(Kernel::kWriter, "p"));
  EXPECT_TRUE(filter.IsNew(Kernel::kWriter, "p", {"b"}));
}

TEST(CauseFilter, AFrequentCauseIsDiagnosedRarely) {
  CauseFilter filter;
  int diagnosed = 0;
  for (int i = 0; i < 10000; ++i) {
    if (!filter.ShouldDiagnose(Kernel::kWriter, "p")) continue;
    ++diagnosed;
    filter.IsNew(Kernel::kWriter, "p", {"a"});
  }
  EXPECT_GE(diagnosed, 10000 / static_cast<int>(CauseFilter::kLongest));
  EXPECT_LE(diagnosed, 200);
}

TEST(CauseFilter, ARareSecondCauseIsStillSeen) {
  CauseFilter filter;
  for (int i = 0; i < 10000; ++i) {
    if (!filter.ShouldDiagnose(Kernel::kWriter, "p")) continue;
    // One failure in ten has another cause, from failure 5000 on.
    const bool other = i >= 5000 && i % 10 == 3;
    if (filter.IsNew(Kernel::kWriter, "p", {other ? "b" : "a"}) && other)
      return;
  }
  FAIL() << "the second cause was never diagnosed";
}

TEST(CauseFilter, PropertiesDoNotMuteEachOther) {
  CauseFilter filter;
  for (int i = 0; i < 1000; ++i) {
    if (filter.ShouldDiagnose(Kernel::kWriter, "p")) {
      filter.IsNew(Kernel::kWriter, "p", {"a"});
    }
  }
  EXPECT_TRUE(filter.ShouldDiagnose(Kernel::kWriter, "q"));
  EXPECT_TRUE(filter.ShouldDiagnose(Kernel::kGather, "p"));
}

TEST(CauseFilter, AnotherProcessesCauseIsKnown) {
  CauseFilter filter;
  filter.AddKnown("a");
  ASSERT_TRUE(filter.ShouldDiagnose(Kernel::kWriter, "p"));
  EXPECT_FALSE(filter.IsNew(Kernel::kWriter, "p", {"a"}));
}

}  // namespace
}  // namespace mlafuzz
