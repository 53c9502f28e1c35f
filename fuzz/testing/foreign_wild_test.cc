// Wrong kernels that others have reported and this project's ledger does not
// have (properties/ledger/foreign/), attached as libraries: a campaign finds
// each within a bounded number of cases, by a property that sees it, and
// blames no contract field but the one that is broken. The right kernels that
// they derive from pass.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/testing/campaigns.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

CampaignOptions WildCampaign(const std::string& library,
                             const std::string& kernel, std::uint64_t cases) {
  setenv("MLAFUZZ_RUNNER",
         std::filesystem::absolute("kernels/foreign/runner").c_str(), 1);
  CampaignOptions options =
      ShortCampaign("lib:" + std::filesystem::absolute(
                                 "properties/ledger/foreign/" + library + ".so")
                                 .string(),
                    {kernel});
  options.cases = cases;
  options.stop_on_first = true;
  options.settle = false;
  return options;
}

struct Wild {
  const char* library;  // its name begins with its kernel's
  // That sees it: the oracle's, then relations that may be asked first.
  std::vector<std::string> properties;
  const char* field = "";  // of the contract, where it says what is wrong
  // Four times what it took, and at least 200.
  std::uint64_t cases = 200;
};

class WildKernel : public testing::TestWithParam<Wild> {};

TEST_P(WildKernel, IsFound) {
  const std::string library = GetParam().library;
  const CampaignResult result = RunShort(WildCampaign(
      library, library.substr(0, library.find('_')), GetParam().cases));
  ASSERT_FALSE(result.findings.empty());
  const Finding& found = result.findings.all()[0];
  EXPECT_THAT(GetParam().properties,
              testing::Contains(found.failure.property()));
  EXPECT_EQ(found.failure.field(), GetParam().field) << found.failure.cause();
  std::printf("%s: %llu cases: %s\n", GetParam().library,
              static_cast<unsigned long long>(found.cases_to_find),
              found.failure.cause().c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Each, WildKernel,
    testing::Values(
        Wild{"convert_first_page_size", {"convert-exact"}},
        Wild{"convert_late_mask", {"memory-safety"}, "convert.table_columns"},
        Wild{"convert_row_for_request", {"convert-exact"}},
        Wild{"decode_dense_query_view", {"decode-out", "decode-lse"}, "", 1400},
        Wild{"decode_early_exit_lse", {"decode-lse", "all-masked"}, "", 12000},
        Wild{"decode_first_position", {"decode-out", "decode-lse"}, "", 1000},
        Wild{"decode_idle_split_lse", {"decode-lse"}},
        Wild{"decode_lse_of_tile", {"memory-safety"}},
        Wild{"decode_merge_stride_zero", {"decode-out"}, "", 9400},
        Wild{"decode_no_tile_a_split", {"decode-out"}},
        Wild{"decode_padding_in_sum", {"decode-out"}, "", 2200},
        Wild{"decode_prefetched_page", {"decode-out", "mask-placement"}},
        Wild{"decode_split_lse_transposed", {"decode-lse"}},
        Wild{"gather_lookahead", {"memory-safety"}},
        Wild{"gather_loop_counts_tokens", {"gather-exact"}, "", 15000},
        Wild{"gather_surplus_page", {"memory-safety"}},
        Wild{"gather_tile_within_page", {"gather-exact"}},
        Wild{"writer_block_on_boundary", {"writer-row"}},
        Wild{"writer_half_group", {"writer-row"}},
        Wild{"writer_padded_tile", {"writer-row", "written-set"}},
        Wild{"writer_reserved_slot", {"slots"}},
        Wild{"writer_shared_pitch", {"writer-row"}}),
    [](const auto& info) { return std::string(info.param.library); });

// What a kernel keeps from call to call shows in cases of every kind, each
// right by itself: one finding, and no rule of the contract is blamed.
TEST(WildKernels, StateIsOneFindingAndNoRule) {
  CampaignOptions options =
      WildCampaign("convert_first_page_size", "convert", 1000);
  options.stop_on_first = false;
  options.settle = true;
  options.follow_up = true;
  const CampaignResult result = RunShort(options);
  ASSERT_EQ(result.findings.all().size(), 1u);
  const Finding& found = result.findings.all()[0];
  EXPECT_EQ(found.failure.key(), "convert/now-and-then");
  EXPECT_EQ(found.failure.field(), "");
  EXPECT_EQ(found.failure.verdict(), "flaky");
  EXPECT_EQ(found.passed, found.reruns);
}

class RightWildKernel : public testing::TestWithParam<const char*> {};

TEST_P(RightWildKernel, IsNotFlagged) {
  const CampaignResult result =
      RunShort(WildCampaign("right", GetParam(), 2000));
  EXPECT_EQ(result.totals.cases, 2000u);
  ASSERT_TRUE(result.findings.empty())
      << result.findings.all()[0].failure.cause();
}

INSTANTIATE_TEST_SUITE_P(Each, RightWildKernel,
                         testing::Values("writer", "gather", "convert",
                                         "decode"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace mlafuzz
