#include "fuzz/campaign/findings.h"

#include "corpus/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Finding WithKey(const std::string& key) {
  Finding finding;
  finding.failure.set_key(key);
  return finding;
}

TEST(Findings, OneACause) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKey("writer/a")), nullptr);
  EXPECT_EQ(set.Add(WithKey("writer/a")), nullptr);
  ASSERT_NE(set.Add(WithKey("writer/b")), nullptr);
  EXPECT_EQ(set.all().size(), 2u);
  EXPECT_EQ(set.all()[0].repeats, 1u);
  EXPECT_EQ(set.Causes(), (std::vector<std::string>{"writer/a", "writer/b"}));
}

// What is settled apart has no other's name, whatever it is called in the end.
TEST(Findings, NamesOfOthersAreTaken) {
  FindingSet set({"writer-a", "writer-writer-row", "writer-a-2"});
  ASSERT_NE(set.Add(WithKey("writer/a")), nullptr);
  EXPECT_EQ(set.all()[0].id, "writer-a-3");
  Finding finding = WithKey("writer/writer.scale=RAW");
  finding.failure.set_kernel("writer");
  finding.failure.set_property("writer/writer-row");
  ASSERT_NE(set.Add(std::move(finding)), nullptr);
  SettleResult result;
  result.add_causes("writer/writer.scale=RAW");
  result.set_withdrawn(true);
  std::string renamed;
  ASSERT_TRUE(set.Settle(1, result, &renamed));
  EXPECT_EQ(renamed, "writer-scale-raw");
  EXPECT_EQ(set.all()[1].id, "writer-writer-row-2");
}

Finding WithKeys(const std::string& key, const std::string& also, int cases) {
  Finding finding = WithKey(key);
  finding.failure.add_also(also);
  finding.cases_to_find = static_cast<std::uint64_t>(cases);
  finding.case_binary = key;
  return finding;
}

// What tells two explanations apart takes the place of what did not, and is
// still found when the first was.
TEST(Findings, ANarrowerCauseTakesTheOthersPlace) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKeys("decode/q.a=A", "decode/v.b=B", 3)), nullptr);
  std::string renamed;
  Finding* narrower =
      set.Add(WithKeys("decode/v.c=C", "decode/v.b=B", 9), &renamed);
  ASSERT_NE(narrower, nullptr);
  EXPECT_EQ(renamed, "decode-q-a-a");
  EXPECT_EQ(set.all().size(), 1u);
  EXPECT_EQ(narrower->failure.key(), "decode/v.b=B");
  EXPECT_EQ(narrower->failure.field(), "v.b");
  EXPECT_EQ(narrower->failure.also_size(), 0);
  EXPECT_EQ(narrower->id, "decode-v-b-b");
  EXPECT_EQ(narrower->cases_to_find, 3u);
  EXPECT_EQ(narrower->case_binary, "decode/v.c=C");
  EXPECT_EQ(narrower->repeats, 1u);
  // The same name with fewer others needs no new case.
  set.Add(WithKeys("decode/x", "decode/y", 1));
  EXPECT_EQ(set.Add(WithKey("decode/x")), nullptr);
  EXPECT_EQ(set.all()[1].failure.also_size(), 0);
}

SettleResult Settled(const std::vector<std::string>& causes) {
  SettleResult result;
  for (const std::string& cause : causes) result.add_causes(cause);
  result.set_heard(9);
  result.set_alike(4);
  return result;
}

// One side of two in its own case; further cases show both.
TEST(Findings, ASettledCauseTakesNameAndCase) {
  FindingSet set;
  const std::string both = "decode/q.a=A+v.b=B";
  ASSERT_NE(set.Add(WithKeys("decode/v.b=B", both, 3)), nullptr);
  SettleResult result = Settled({both});
  result.mutable_failure()->set_key(both);
  result.mutable_failure()->set_field("q.a+v.b");
  result.mutable_failure()->set_property("decode-lse");
  result.set_case_binary("telling");
  std::string renamed;
  EXPECT_TRUE(set.Settle(0, result, &renamed));
  EXPECT_EQ(renamed, "decode-v-b-b");
  const Finding& finding = set.all()[0];
  EXPECT_EQ(finding.id, "decode-q-a-a-v-b-b");
  EXPECT_EQ(finding.failure.key(), both);
  EXPECT_EQ(finding.failure.field(), "q.a+v.b");
  EXPECT_EQ(finding.failure.property(), "decode-lse");
  EXPECT_EQ(finding.failure.also_size(), 0);
  EXPECT_EQ(finding.case_binary, "telling");
  EXPECT_EQ(finding.cases_to_find, 3u);
  EXPECT_EQ(finding.heard, 9u);
  EXPECT_EQ(finding.alike, 4u);
}

TEST(Findings, ASettledCauseThatIsTheFirstKeepsItsCase) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKeys("decode/v.b=B", "decode/v.c=C", 3)), nullptr);
  SettleResult result = Settled({"decode/v.b=B"});
  result.mutable_failure()->set_key("decode/v.b=B");
  result.set_case_binary("telling");
  std::string renamed;
  EXPECT_FALSE(set.Settle(0, result, &renamed));
  EXPECT_EQ(set.all()[0].case_binary, "decode/v.b=B");
  EXPECT_EQ(set.all()[0].failure.also_size(), 0);
  EXPECT_TRUE(set.all()[0].settled);
}

// A relation says that something is wrong; a case that is wrong alone says
// what.
TEST(Findings, ACaseThatShowsItTakesTheRelationsPlace) {
  FindingSet set;
  Finding broken = WithKey("decode/missing-rescale");
  broken.failure.set_property("duplicates");
  broken.cases_to_find = 3;
  ASSERT_NE(set.Add(broken), nullptr);
  SettleResult result = Settled({"decode/missing-rescale"});
  std::string renamed;
  EXPECT_FALSE(set.Settle(0, result, &renamed));
  EXPECT_EQ(set.all()[0].failure.property(), "duplicates");
  result.mutable_failure()->set_key("decode/missing-rescale");
  result.mutable_failure()->set_property("decode-out");
  result.set_case_binary("telling");
  EXPECT_TRUE(set.Settle(0, result, &renamed));
  EXPECT_EQ(renamed, "decode-missing-rescale");
  EXPECT_EQ(set.all()[0].id, "decode-missing-rescale");
  EXPECT_EQ(set.all()[0].failure.property(), "decode-out");
  EXPECT_EQ(set.all()[0].case_binary, "telling");
  EXPECT_EQ(set.all()[0].cases_to_find, 3u);
}

// A claim that further cases belie is none; its case is rerun by it all the
// same.
TEST(Findings, AClaimThatTooManyCasesBelieIsWithdrawn) {
  FindingSet set;
  Finding finding =
      WithKeys("writer/writer.slots=A", "writer/writer.slots=B", 3);
  finding.failure.set_kernel("writer");
  finding.failure.set_property("slots");
  finding.failure.set_field("writer.slots");
  finding.failure.set_detail("byte 3");
  ASSERT_NE(set.Add(finding), nullptr);
  SettleResult result = Settled({"writer/writer.slots=A"});
  result.set_others(9);
  result.set_withdrawn(true);
  std::string renamed;
  EXPECT_TRUE(set.Settle(0, result, &renamed));
  const Finding& unknown = set.all()[0];
  EXPECT_EQ(unknown.failure.key(), "writer/slots");
  EXPECT_EQ(unknown.id, "writer-slots");
  EXPECT_EQ(unknown.failure.field(), "");
  EXPECT_EQ(unknown.failure.also_size(), 0);
  EXPECT_EQ(unknown.failure.cause(),
            "unknown: of further cases that fail 4 may be so by "
            "writer/writer.slots=A, but 9 fail otherwise; this one: byte 3");
  EXPECT_EQ(unknown.key_of_case(), "writer/writer.slots=A");
}

TEST(Findings, ACauseWithACondition) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKeys("decode/v.b=B", "decode/v.c=C", 3)), nullptr);
  SettleResult result = Settled({"decode/v.b=B"});
  result.set_contradicted(7);
  std::string renamed;
  EXPECT_FALSE(set.Settle(0, result, &renamed));
  EXPECT_TRUE(set.all()[0].failure.conditional());
  EXPECT_THAT(set.all()[0].failure.cause(),
              testing::EndsWith("; in some calls only: 7 further cases in "
                                "which it should show are right"));
}

// No case shows it first: the finding keeps its own and says so.
TEST(Findings, ASettledCauseWithoutACaseIsNamedAllTheSame) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKeys("decode/v.b=B", "decode/v.c=C", 3)), nullptr);
  std::string renamed;
  EXPECT_TRUE(set.Settle(0, Settled({"decode/v.c=C", "decode/x"}), &renamed));
  const Finding& finding = set.all()[0];
  EXPECT_EQ(finding.failure.field(), "v.c");
  EXPECT_EQ(finding.case_binary, "decode/v.b=B");
  EXPECT_EQ(finding.failure.cause().find("decode/v.c=C explains all cases"),
            0u);
  ASSERT_EQ(finding.failure.also_size(), 1);
  EXPECT_EQ(finding.failure.also(0), "decode/x");
}

TEST(Findings, SettledAlikeAreOne) {
  FindingSet set;
  ASSERT_NE(set.Add(WithKeys("decode/v.b=B", "decode/v.c=C", 3)), nullptr);
  ASSERT_NE(set.Add(WithKeys("decode/q.d=D", "decode/q.e=E", 5)), nullptr);
  ASSERT_NE(set.Add(WithKey("decode/v.c=C")), nullptr);
  std::string renamed;
  set.Settle(0, Settled({"decode/v.c=C"}), &renamed);
  set.Settle(1, Settled({"decode/v.c=C"}), &renamed);
  ASSERT_GE(set.all().size(), 2u);
  const std::size_t before = set.all().size();
  EXPECT_EQ(set.MergeAlike().size(), before - 1);
  ASSERT_EQ(set.all().size(), 1u);
  EXPECT_EQ(set.all()[0].cases_to_find, 3u);
}

TEST(Findings, IdsAreFileNamesAndUnique) {
  EXPECT_EQ(FindingId("writer/writer.tail=TAIL_UNCHANGED"),
            "writer-tail-tail-unchanged");
  EXPECT_EQ(FindingId("gather/codes only"), "gather-codes-only");
  EXPECT_EQ(FindingId("../.."), "finding");
  FindingSet set;
  EXPECT_EQ(set.Add(WithKey("a/b"))->id, "a-b");
  EXPECT_EQ(set.Add(WithKey("a.b"))->id, "a-b-2");
}

std::string WriteThenGather() {
  Case c;
  c.add_steps()->mutable_patch();
  c.add_steps()->mutable_write();
  c.add_steps()->mutable_gather();
  c.add_steps()->mutable_gather();
  return CanonicalBinary(c);
}

TEST(Findings, ADeathBlamesTheKernelUnderTest) {
  const Failure f = DeathFailure("crash", WriteThenGather(), {"gather"},
                                 "killed by Segmentation fault: at 0x1234");
  EXPECT_EQ(f.kernel(), "gather");
  EXPECT_EQ(f.verdict(), "crash");
  EXPECT_EQ(f.property(), "memory-safety");
  EXPECT_EQ(f.key(), "gather/crash/killed by Segmentation fault");
  EXPECT_NE(f.cause().find("0x1234"), std::string::npos);
}

TEST(Findings, HangsAndDeathsAreDifferentCauses) {
  const std::string c = WriteThenGather();
  EXPECT_NE(DeathFailure("hang", c, {"writer"}, "x").key(),
            DeathFailure("crash", c, {"writer"}, "x").key());
  EXPECT_NE(DeathFailure("hang", c, {"writer"}, "x").key(),
            DeathFailure("hang", c, {"gather"}, "x").key());
}

TEST(Findings, CallsOfAKernel) {
  EXPECT_EQ(CallsOf(WriteThenGather(), "gather"), 2u);
  EXPECT_EQ(CallsOf(WriteThenGather(), "convert"), 0u);
  EXPECT_EQ(CallsOf("\xff\xff", "gather"), 0u);
}

// Its case alone still shows the claim: that is no flakiness.
TEST(Findings, AWithdrawnClaimIsWhatItsCaseShows) {
  FindingSet set;
  Finding finding = WithKey("writer/writer.slots=MINUS_ONE_SKIPPED");
  finding.failure.set_kernel("writer");
  finding.failure.set_property("slots");
  ASSERT_NE(set.Add(finding), nullptr);
  SettleResult result = Settled({"writer/writer.slots=MINUS_ONE_SKIPPED"});
  result.set_others(40);
  result.set_withdrawn(true);
  std::string renamed;
  ASSERT_TRUE(set.Settle(0, result, &renamed));
  ASSERT_EQ(set.all()[0].failure.key(), "writer/slots");
  CaseRun run;
  run.add_failures()->set_key("writer/writer.slots=MINUS_ONE_SKIPPED");
  EXPECT_TRUE(FailsAlike(run, set.all()[0]));
  run.mutable_failures(0)->set_key("writer/codes-only");
  EXPECT_FALSE(FailsAlike(run, set.all()[0]));
  run.clear_failures();
  EXPECT_FALSE(FailsAlike(run, set.all()[0]));
}

}  // namespace
}  // namespace mlafuzz
