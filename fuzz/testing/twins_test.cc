// Every wrong twin is found, from an empty corpus, for the right reason; the
// right ones are not.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fuzz/campaign/unexplained.h"
#include "fuzz/testing/campaigns.h"
#include "gtest/gtest.h"
#include "properties/ledger/ledger.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

class Twin : public testing::TestWithParam<LedgerEntry> {};

std::string Describe(const CampaignResult& result) {
  std::string text;
  for (const Finding& f : result.findings.all()) {
    text += f.failure.key() + " (" + f.failure.property() + ", " +
            f.failure.field() + ", after " +
            std::to_string(f.executions_to_find) + "): " + f.failure.cause() +
            "\n";
  }
  return text.empty() ? "nothing found" : text;
}

std::vector<std::string> KernelsOf(const LedgerEntry& twin) {
  std::vector<std::string> kernels;
  for (const Kernel k : twin.kernels) kernels.push_back(KernelName(k));
  return kernels;
}

// Kernel, property, contract field and name as the ledger says. A relation that
// it does not list may show a fault that has a name, too.
bool IsRight(const LedgerEntry& twin, const Failure& f) {
  const std::vector<std::string> kernels = KernelsOf(twin);
  return std::count(kernels.begin(), kernels.end(), f.kernel()) > 0 &&
         (std::count(twin.properties.begin(), twin.properties.end(),
                     f.property()) > 0 ||
          (!twin.key.empty() && IsRelation(f.property()))) &&
         f.field() == twin.field &&
         (twin.key.empty() ||
          f.key().find("/" + twin.key) != std::string::npos);
}

// Whichever case shows it first, further ones settle what it is: one cause, the
// right one; or, of one seed in four, none.
TEST_P(Twin, IsNamedFromItsFirstFinding) {
  const LedgerEntry& twin = GetParam();
  int unexplained = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    CampaignOptions options = ShortCampaign(twin.target, KernelsOf(twin));
    options.seed = seed;
    options.stop_on_first = true;
    const CampaignResult result = RunShort(options);
    ASSERT_FALSE(result.findings.empty()) << seed;
    const Finding& first = result.findings.all()[0];
    if (IsUnexplained(first) && !IsRight(twin, first.failure)) {
      EXPECT_EQ(++unexplained, 1) << seed << Describe(result);
      continue;
    }
    EXPECT_TRUE(IsRight(twin, first.failure)) << seed << Describe(result);
    if (!twin.key.empty()) {
      EXPECT_EQ(first.failure.also_size(), 0) << seed << Describe(result);
    }
  }
}

TEST_P(Twin, IsFoundForTheRightReason) {
  const LedgerEntry& twin = GetParam();
  const std::vector<std::string> kernels = KernelsOf(twin);
  // The acceptance limit is on the median over seeds; these are single seeds.
  // Faults between blocks and splits of a decode need rare wide rows.
  const std::uint64_t limit =
      twin.target == "mutant:missing-rescale" ||
              twin.target == "mutant:split-partial-dropped" ||
              twin.target == "mutant:length-ignored-above-64"
          ? 20000
          : 1000;
  // Once in the three a case that nothing explains may stand beside it: what is
  // met at the end finds no further cases to settle it.
  std::size_t beside = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    CampaignOptions options = ShortCampaign(twin.target, kernels);
    options.seed = seed;
    const CampaignResult result = RunShort(options);
    EXPECT_EQ(ExitCode(result), 1);
    const auto& all = result.findings.all();
    ASSERT_FALSE(all.empty()) << seed;
    EXPECT_LE(all[0].executions_to_find, limit) << seed << Describe(result);
    EXPECT_GE(all[0].executions_to_find, 1u);
    // One cause, one finding: of each wrong kernel.
    std::map<std::string, int> findings;
    for (const Finding& f : all) ++findings[f.failure.kernel()];
    EXPECT_EQ(findings.size(), kernels.size()) << seed << Describe(result);
    std::size_t explained = 0;
    for (const Finding& f : all) {
      explained += !IsUnexplained(f) || IsRight(twin, f.failure) ? 1 : 0;
    }
    EXPECT_LE(explained, kernels.size()) << seed << Describe(result);
    beside += all.size() - kernels.size();
    EXPECT_LE(beside, 1u) << seed << Describe(result);
    EXPECT_TRUE(
        std::any_of(all.begin(), all.end(),
                    [&](const Finding& f) { return IsRight(twin, f.failure); }))
        << seed << Describe(result);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Twin, testing::ValuesIn(CoreLedger()),
                         [](const auto& info) {
                           std::string name = info.param.target;
                           for (char& c : name) {
                             if (!std::isalnum(c)) c = '_';
                           }
                           return name;
                         });

class Right : public testing::TestWithParam<const char*> {};

TEST_P(Right, IsNeverFlagged) {
  const CampaignResult result =
      RunShort(ShortCampaign(GetParam(), {"writer", "gather", "convert"}));
  EXPECT_EQ(ExitCode(result), 0) << Describe(result);
  EXPECT_GE(result.totals.cases, 2000u);
  for (const Kernel k : {Kernel::kWriter, Kernel::kGather, Kernel::kConvert}) {
    EXPECT_GT(result.totals.distinct[static_cast<std::size_t>(k)], 100u)
        << KernelName(k);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Right,
                         testing::Values("builtin", "builtin:pow2",
                                         "builtin:kimi-k3", "builtin:triton",
                                         "builtin:triton-pow2",
                                         "control:thread-mapping"));

class RightDecode : public testing::TestWithParam<const char*> {};

TEST_P(RightDecode, IsNeverFlagged) {
  const CampaignResult result = RunShort(ShortCampaign(GetParam(), {"decode"}));
  EXPECT_EQ(ExitCode(result), 0) << Describe(result);
  EXPECT_GE(result.totals.cases, 1000u);
  EXPECT_GT(result.totals.distinct[static_cast<std::size_t>(Kernel::kDecode)],
            500u);
}

INSTANTIATE_TEST_SUITE_P(
    All, RightDecode,
    testing::Values("builtin", "builtin:bf16-partials", "builtin:e4m3",
                    "builtin:e4m3-two-pass", "builtin:flashinfer-arbitrary",
                    "builtin:flashinfer-pow2", "builtin:flashmla"));

TEST(Campaign, TheSameSeedFindsTheSameAfterTheSameCalls) {
  const auto options = ShortCampaign("mutant:gather-stale-tail", {"gather"});
  const CampaignResult a = RunShort(options), b = RunShort(options);
  ASSERT_FALSE(a.findings.empty());
  ASSERT_EQ(a.findings.all().size(), b.findings.all().size());
  for (std::size_t i = 0; i < a.findings.all().size(); ++i) {
    EXPECT_EQ(a.findings.all()[i].case_binary, b.findings.all()[i].case_binary);
    EXPECT_EQ(a.findings.all()[i].executions_to_find,
              b.findings.all()[i].executions_to_find);
  }
}

// Where a campaign steers follows from its seed: so does what it has seen.
TEST(Campaign, TheSameSeedSteersAlike) {
  auto options = ShortCampaign("builtin", {"writer", "decode"});
  options.cases = 3000;
  const CampaignResult a = RunShort(options), b = RunShort(options);
  EXPECT_EQ(a.totals.power_steps, b.totals.power_steps);
  EXPECT_EQ(a.totals.power, b.totals.power);
  EXPECT_EQ(a.totals.made_for, b.totals.made_for);
  EXPECT_EQ(a.totals.made_sampled, b.totals.made_sampled);
  EXPECT_EQ(a.totals.made_informative, b.totals.made_informative);
  std::uint64_t sampled = 0, informative = 0;
  for (std::size_t i = 0; i < a.totals.made_for.size(); ++i) {
    sampled += a.totals.made_sampled[i];
    informative += a.totals.made_informative[i];
  }
  EXPECT_GT(sampled, 20u);
  EXPECT_GE(informative * 10, sampled * 9);
}

TEST(Campaign, SeveralJobsShareTheCases) {
  auto options = ShortCampaign("builtin", {"convert"});
  options.jobs = 3;
  options.cases = 1000;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(result.totals.cases, 1000u);
  EXPECT_EQ(ExitCode(result), 0);
}

TEST(Campaign, KernelsThatNobodyCallsAreUninformative) {
  const CampaignResult result = RunShort(ShortCampaign("builtin", {}));
  EXPECT_EQ(ExitCode(result), 3);
}

}  // namespace
}  // namespace mlafuzz
