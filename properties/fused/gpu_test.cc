// Shared calls on a GPU, on memory that is lent to the runner. Skips itself
// where there is none.

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/fused/fused_checker.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kCases = 4096;

class FusedOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = DescribeDevice(DefaultCudaBackend());
    if (!device.ok()) {
      GTEST_SKIP() << "no GPU: " << device.status().message();
    }
    RecordProperty("device", *device);
  }

  // One-row conversions of token 1, but of `token` in number `odd`.
  void Check(const std::string& target, std::size_t odd, int token) {
    lent_.reset();
    cases_.clear();
    auto set = MakeTargetSet(target);
    ASSERT_TRUE(set.ok()) << set.status();
    targets_ = *std::move(set);
    executor_ = MakeForeignExecutor();
    auto lent =
        LentCalls::Create(targets_, *executor_, std::uint64_t{128} << 20);
    ASSERT_TRUE(lent.ok()) << lent.status();
    lent_ = *std::move(lent);
    CaseChecker checker(targets_, *executor_);
    FusedOptions options;
    options.lent = lent_.get();
    FusedChecker fused(checker, targets_, *executor_, options);
    std::vector<CaseImage> images;
    for (std::size_t i = 0; i < kCases; ++i) {
      Case& c = cases_.emplace_back();
      c.mutable_pool()->set_page_size(4);
      c.mutable_pool()->set_pages(8);
      Convert& convert = *c.add_steps()->mutable_convert();
      convert.mutable_request_ids()->add_values(0);
      Table& table = *convert.mutable_block_table();
      table.set_rows(1);
      table.set_columns(8);
      table.mutable_pages()->set_count(8);
      table.mutable_pages()->set_order(Integers::PERMUTED);
      table.mutable_pages()->set_seed(i);
      Indices& tokens = *convert.mutable_token_indices();
      tokens.set_rows(1);
      tokens.set_width(1);
      SetIndex& index = *tokens.add_set();
      index.set_at(0);
      index.set_value(i == odd ? token : 1);
      images.push_back(*BuildImage(c));
    }
    const absl::Status status = fused.Check(std::move(images), &results_);
    ASSERT_TRUE(status.ok()) << status;
    counts_ = fused.counts();
  }

  static int Failures(const CaseResult& result) {
    int failures = 0;
    for (const mlafuzz::Check& check : result.checks) {
      failures += IsFailure(check.verdict) ? 1 : 0;
    }
    return failures;
  }

  std::deque<Case> cases_;
  TargetSet targets_;
  std::unique_ptr<ForeignExecutor> executor_;
  std::unique_ptr<LentCalls> lent_;
  std::vector<FusedResult> results_;
  FusedCounts counts_;
};

std::string OddTokens() {
  return absl::StrCat("cuda:lib:", std::getenv("TEST_SRCDIR"),
                      "/mlafuzz/properties/fused/testing/odd_tokens.so");
}

TEST_F(FusedOnGpu, RightKernelsPassOnTheDevice) {
  for (const std::string& target : {std::string("cuda:builtin"), OddTokens()}) {
    Check(target, 0, 1);
    EXPECT_EQ(counts_.lent, kCases);
    EXPECT_EQ(counts_.untold, 0u);
    for (const FusedResult& result : results_) {
      ASSERT_FALSE(result.result.checks.empty());
      ASSERT_EQ(Failures(result.result), 0);
    }
  }
}

// Those that shared its call run alone; other calls, of other alignments,
// passed.
TEST_F(FusedOnGpu, OneBadAccessOfFourThousand) {
  constexpr std::size_t kBad = 2718;
  Check(OddTokens(), kBad, 13);
  EXPECT_EQ(counts_.untold, 1u);
  EXPECT_EQ(counts_.only_fused, 0u);
  EXPECT_GT(results_[kBad].together, 100u);
  EXPECT_EQ(counts_.lent + results_[kBad].together, kCases);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const CaseResult& result = results_[i].result;
    ASSERT_FALSE(result.checks.empty()) << i;
    if (i == kBad) {
      EXPECT_TRUE(results_[i].rerun);
      EXPECT_EQ(result.observation.steps.at(0).status, CallStatus::kCrash)
          << result.observation.steps.at(0).message;
      EXPECT_GT(Failures(result), 0);
    } else {
      ASSERT_EQ(Failures(result), 0) << i;
      ASSERT_EQ(result.observation.steps.at(0).status, CallStatus::kOk) << i;
    }
  }
}

// What comes back is judged case by case.
TEST_F(FusedOnGpu, OneWrongSlotOfFourThousand) {
  constexpr std::size_t kWrong = 99;
  Check(OddTokens(), kWrong, 14);
  EXPECT_EQ(counts_.lent + results_[kWrong].together, kCases);
  EXPECT_EQ(counts_.untold, 0u);
  EXPECT_EQ(counts_.only_fused, 0u);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    ASSERT_EQ(Failures(results_[i].result) > 0, i == kWrong) << i;
  }
}

}  // namespace
}  // namespace mlafuzz
