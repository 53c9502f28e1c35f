#include "fuzz/ledger/cause.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Failure Found(const std::string& kernel, const std::string& property,
              const std::string& key,
              const std::vector<std::string>& also = {}) {
  Failure failure;
  failure.set_kernel(kernel);
  failure.set_property(property);
  failure.set_key(kernel + "/" + key);
  for (const std::string& other : also) failure.add_also(kernel + "/" + other);
  return failure;
}

const LedgerEntry kField = {
    "mutant:both",  {Kernel::kDecode},
    {"decode-out"}, "qk.scale_rule+v.scale_rule",
    "POW2+FLOOR",   "qk.scale_rule=POW2+v.scale_rule=FLOOR",
    "an issue"};
const LedgerEntry kNamed = {
    "mutant:named",    {Kernel::kDecode},          {"decode-out"}, "", "",
    "missing-rescale", "operator: missing rescale"};
const LedgerEntry kNameless = {
    "mutant:race", {Kernel::kGather}, {"gather-exact"}, "", "", "", "impostor"};

TEST(CauseOf, ARuleIsRightWithItsValueInAnyOrderAndAlone) {
  EXPECT_EQ(CauseOf(kField, Found("decode", "decode-out",
                                  "qk.scale_rule=POW2+v.scale_rule=FLOOR")),
            CauseVerdict::kRight);
  EXPECT_EQ(CauseOf(kField, Found("decode", "decode-out",
                                  "v.scale_rule=FLOOR+qk.scale_rule=POW2")),
            CauseVerdict::kRight);
  EXPECT_EQ(CauseOf(kField, Found("decode", "decode-out",
                                  "qk.scale_rule=POW2+v.scale_rule=FLOOR",
                                  {"decode.sink=SINK_DROPPED"})),
            CauseVerdict::kUnknown);
  EXPECT_EQ(CauseOf(kField, Found("decode", "convexity",
                                  "qk.scale_rule=POW2+v.scale_rule=FLOOR")),
            CauseVerdict::kUnknown);
}

TEST(CauseOf, HalfOfARuleOrAnotherValueIsWrong) {
  EXPECT_EQ(
      CauseOf(kField, Found("decode", "decode-out", "qk.scale_rule=POW2")),
      CauseVerdict::kWrong);
  EXPECT_EQ(CauseOf(kField, Found("decode", "decode-out",
                                  "qk.scale_rule=POW2+v.scale_rule=ONE")),
            CauseVerdict::kWrong);
  EXPECT_EQ(
      CauseOf(kField, Found("decode", "decode-out", "decode.sink=SINK_DROPPED",
                            {"decode.lse_base=BASE_E"})),
      CauseVerdict::kWrong);
}

// Who says that it holds in some calls only has not said that it is the cause.
TEST(CauseOf, AnotherRuleWithAConditionIsNoClaim) {
  Failure found = Found("decode", "decode-out", "qk.scale_rule=POW2");
  found.set_conditional(true);
  EXPECT_EQ(CauseOf(kField, found), CauseVerdict::kUnknown);
}

TEST(CauseOf, AnotherKernelIsWrongWhateverIsSaid) {
  EXPECT_EQ(CauseOf(kField, Found("writer", "writer-row", "other")),
            CauseVerdict::kWrong);
}

TEST(CauseOf, WhatIsOnlySeenClaimsNothing) {
  for (const char* key : {"nothing-written", "refused-valid", "codes-only",
                          "crash/killed by Aborted", "decode-out"}) {
    EXPECT_EQ(CauseOf(kField, Found("decode", "decode-out", key)),
              CauseVerdict::kUnknown)
        << key;
    EXPECT_EQ(CauseOf(kNameless, Found("gather", "gather-exact", key)),
              CauseVerdict::kRight)
        << key;
    EXPECT_EQ(CauseOf(kNameless, Found("gather", "gather-tail", key)),
              CauseVerdict::kUnknown)
        << key;
  }
}

TEST(CauseOf, AFaultWithANameIsThatNameOrWrong) {
  EXPECT_EQ(CauseOf(kNamed, Found("decode", "decode-out", "missing-rescale")),
            CauseVerdict::kRight);
  EXPECT_EQ(
      CauseOf(kNamed, Found("decode", "decode-out", "split-partial-dropped")),
      CauseVerdict::kWrong);
  EXPECT_EQ(CauseOf(kNamed, Found("decode", "decode-out", "other")),
            CauseVerdict::kUnknown);
  EXPECT_EQ(CauseOf(kNameless, Found("gather", "gather-exact",
                                     "gather.nope_tail=TAIL_UNCHANGED")),
            CauseVerdict::kWrong);
}

TEST(CauseOverSeeds, OneWrongSeedIsWrongAndMostAreRight) {
  constexpr auto kR = CauseVerdict::kRight, kU = CauseVerdict::kUnknown,
                 kW = CauseVerdict::kWrong;
  EXPECT_EQ(CauseOverSeeds({}), kU);
  EXPECT_EQ(CauseOverSeeds({kR, kR}), kR);
  EXPECT_EQ(CauseOverSeeds({kR, kU}), kU);
  EXPECT_EQ(CauseOverSeeds({kR, kU, kR}), kR);
  EXPECT_EQ(CauseOverSeeds({kR, kR, kR, kW}), kW);
}

}  // namespace
}  // namespace mlafuzz
