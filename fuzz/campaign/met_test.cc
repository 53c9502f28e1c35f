#include "fuzz/campaign/met.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Finding Named(const std::string& key, const std::string& field) {
  Finding finding;
  finding.failure.set_key(key);
  finding.failure.set_field(field);
  finding.settled = true;
  finding.alike = 12;
  return finding;
}

const std::vector<Finding> kTail = {
    Named("writer/writer.tail=TAIL_UNCHANGED", "writer.tail")};

TEST(Met, ARuleThatFurtherCasesConfirmIsAFaultOfItsOwn) {
  EXPECT_TRUE(IsOfItsOwn(Named("writer/writer.scale=POW2_CEIL", "writer.scale"),
                         kTail));
}

// One that fits a small case by chance: further cases say otherwise, or do not
// say it often enough.
TEST(Met, WhatFurtherCasesDoNotConfirmIsNone) {
  const Finding good = Named("writer/writer.scale=POW2_CEIL", "writer.scale");
  Finding met = good;
  met.alike = 11;
  EXPECT_FALSE(IsOfItsOwn(met, kTail));
  met = good;
  met.contradicted = 1;
  EXPECT_FALSE(IsOfItsOwn(met, kTail));
  met = good;
  met.settled = false;
  EXPECT_FALSE(IsOfItsOwn(met, kTail));
  met = good;
  met.withdrawn = "writer/writer.scale=POW2_CEIL";
  EXPECT_FALSE(IsOfItsOwn(met, kTail));
  met = good;
  met.failure.add_also("writer/writer.scale=RAW");
  EXPECT_FALSE(IsOfItsOwn(met, kTail));
}

TEST(Met, ADamageIsNone) {
  EXPECT_FALSE(IsOfItsOwn(Named("writer/codes-only", ""), kTail));
}

TEST(Met, WhatMayBeAFindingIsThat) {
  Finding known = kTail[0];
  known.failure.add_possible("writer/writer.slots=NONE_SKIPPED");
  EXPECT_FALSE(IsOfItsOwn(
      Named("writer/writer.slots=NONE_SKIPPED", "writer.slots"), {known}));
  EXPECT_FALSE(IsOfItsOwn(kTail[0], kTail));
}

}  // namespace
}  // namespace mlafuzz
