// Whole campaigns in which cases share calls: on a library that is right, on
// ones that end their process, and on one that is wrong in large batches alone.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "fuzz/testing/campaigns.h"
#include "fuzz/worker/case_log.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

CampaignOptions FusedCampaign(const std::string& library) {
  setenv("MLAFUZZ_RUNNER",
         std::filesystem::absolute("kernels/foreign/runner").c_str(), 1);
  CampaignOptions options =
      ShortCampaign("lib:" + std::filesystem::absolute(
                                 "kernels/foreign/testing/" + library + ".so")
                                 .string(),
                    {"convert"});
  options.cases = 3000;
  options.fuse = 512;
  return options;
}

TEST(FusedCampaign, ARightLibraryHasNoFinding) {
  CampaignOptions options = FusedCampaign("right");
  options.cases = 20000;  // the first 8,192 come without siblings
  const CampaignResult result = RunShort(options);
  const Totals& totals = result.totals;
  EXPECT_EQ(totals.cases, 20000u);
  EXPECT_TRUE(result.findings.empty())
      << result.findings.all()[0].failure.cause();
  EXPECT_EQ(totals.failures, 0u);
  // Most cases share calls, with many others; at least one in twenty of them
  // runs alone, too.
  EXPECT_GT(totals.fused, totals.cases / 2);
  EXPECT_GT(totals.fused, 6 * totals.fused_calls);
  EXPECT_GT(totals.fused_rerun, totals.fused / 20);
  EXPECT_EQ(totals.fused_untold, 0u);
  EXPECT_EQ(totals.fused + totals.fused_alone, totals.cases);
  // A case of a shared call is an execution.
  EXPECT_GE(totals.executions[static_cast<std::size_t>(Kernel::kConvert)],
            totals.cases);
}

// Calls that end their process: every case has its own verdict.
TEST(FusedCampaign, WhoEndsTheProcessIsFoundAmongOthers) {
  CampaignOptions options = FusedCampaign("segfault");
  options.cases = 96;
  options.fuse = 32;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(result.totals.cases, 96u);
  EXPECT_EQ(result.respawns, 0);
  EXPECT_GT(result.totals.fused_untold, 0u);
  EXPECT_EQ(result.totals.fused + result.totals.fused_alone, 96u);
  ASSERT_FALSE(result.findings.empty());
  const Finding& finding = result.findings.all()[0];
  EXPECT_EQ(finding.failure.verdict(), "crash") << finding.failure.cause();
  const auto c = ParseCaseBinary(finding.case_binary);
  ASSERT_TRUE(c.ok());
  EXPECT_GE(c->steps(static_cast<int>(finding.failure.step()))
                .convert()
                .token_indices()
                .rows(),
            3u);
}

TEST(FusedCampaign, WrongInLargeBatchesAlone) {
  CampaignOptions options = FusedCampaign("large_batch");
  options.cases = 20000;
  const CampaignResult result = RunShort(options);
  EXPECT_GT(result.totals.only_fused, 0u);
  ASSERT_EQ(result.findings.all().size(), 1u);
  const Finding& finding = result.findings.all()[0];
  EXPECT_EQ(finding.failure.key(), "convert/fused");
  EXPECT_EQ(finding.failure.property(), "fused");
  EXPECT_NE(finding.failure.detail().find("others in one call"),
            std::string::npos)
      << finding.failure.detail();
  // The same cases, each alone: right.
  options.fuse = 0;
  EXPECT_TRUE(RunShort(options).findings.empty());
}

// In the process itself, on the host: the shape of the batch is a knob there,
// too.
TEST(FusedCampaign, OnTheHost) {
  CampaignOptions options = ShortCampaign("builtin", {"writer", "convert"});
  options.cases = 2000;
  options.fuse = 256;
  const CampaignResult result = RunShort(options);
  EXPECT_TRUE(result.findings.empty())
      << result.findings.all()[0].failure.cause();
  EXPECT_GT(result.totals.fused, 100u);
  EXPECT_GT(result.totals.fused_calls, 10u);

  // A grid of at most 64 blocks: few cases have as many tokens, all big calls
  // do.
  options = ShortCampaign("mutant:writer-grid-of-64", {"writer"});
  options.cases = 2000;
  options.fuse = 256;
  const CampaignResult wrong = RunShort(options);
  ASSERT_FALSE(wrong.findings.empty());
  EXPECT_EQ(wrong.findings.all()[0].failure.kernel(), "writer");
}

// What a campaign ran and what it said of it, in words.
std::string Told(const CampaignOptions& options, const CampaignResult& result) {
  const Totals& totals = result.totals;
  std::string told = absl::StrCat(
      totals.cases, " cases ", totals.checks, " checks ", totals.informative,
      " informative ", totals.failures, " failures ", totals.fused, " fused ",
      totals.fused_calls, " calls ", totals.fused_rerun, " rerun ",
      totals.only_fused, " only fused ", totals.power_samples, " samples\n");
  for (const auto* counts : {&totals.power, &totals.made_for,
                             &totals.made_sampled, &totals.made_informative}) {
    absl::StrAppend(&told, absl::StrJoin(*counts, " "), "\n");
  }
  absl::StrAppend(&told, absl::StrJoin(totals.knobs, " "), "\n",
                  absl::StrJoin(totals.relations, " "), "\n",
                  absl::StrJoin(totals.executions, " "), "\n",
                  absl::StrJoin(totals.distinct, " "), "\n");
  for (const Finding& finding : result.findings.all()) {
    absl::StrAppend(&told, finding.failure.key(), " after ",
                    finding.executions_to_find, ": ",
                    absl::BytesToHexString(finding.case_binary), "\n");
  }
  const auto cases = ReadCaseLog(options.case_log + ".0");
  EXPECT_TRUE(cases.ok()) << cases.status();
  if (cases.ok()) absl::StrAppend(&told, absl::StrJoin(*cases, "\n"));
  return told;
}

// The same seed makes the same cases, in the same calls, with the same
// verdicts, whatever the number of threads.
TEST(FusedCampaign, ThreadsChangeNothingButTheTime) {
  for (const char* library : {"right", "large_batch"}) {
    std::string first;
    for (const std::uint32_t threads : {1, 2, 7}) {
      CampaignOptions options = FusedCampaign(library);
      options.cases = 4000;
      options.fuse = 256;
      options.threads = threads;
      options.case_log =
          absl::StrCat(testing::TempDir(), "/", library, threads);
      std::filesystem::remove(options.case_log + ".0");
      const std::string told = Told(options, RunShort(options));
      if (first.empty()) first = told;
      EXPECT_EQ(told, first) << library << ", " << threads << " threads";
    }
    EXPECT_NE(first.find("4000 cases"), std::string::npos);
  }
}

// A turn that time does not suffice to fill is run all the same.
TEST(FusedCampaign, WhatIsBegunWhenTimeIsOverSaysSomething) {
  for (const std::uint32_t threads : {1, 3}) {
    CampaignOptions options = FusedCampaign("right");
    options.cases = 0;
    options.seconds = 1.5;
    options.fuse = 65536;
    options.threads = threads;
    const CampaignResult result = RunShort(options);
    EXPECT_GT(result.totals.cases, 0u) << threads;
    EXPECT_TRUE(result.error.empty()) << result.error;
  }
}

}  // namespace
}  // namespace mlafuzz
