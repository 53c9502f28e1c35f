// The verdicts that a GPU leads to are those of the host: of every wrong kernel
// of the ledger, and of random cases of right ones. Skips itself where there is
// no GPU. VERDICT_CASES cases a wrong kernel, VERDICT_RANDOM of right ones in
// all; GTEST_TOTAL_SHARDS processes share them.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/fused/lent_calls.h"
#include "properties/fused/testing/twice.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kSlices = 16;

std::size_t Number(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise
                         : static_cast<std::size_t>(std::atoll(text));
}

struct Part {
  std::string target;
  std::vector<Kernel> kernels;
  std::size_t cases;
  std::uint64_t seed;
  bool wrong;
};

std::vector<Part> Parts() {
  std::vector<Part> parts;
  const std::size_t random = Number("VERDICT_RANDOM", 6000);
  for (const char* target : {"builtin", "builtin:dsv4", "builtin:indexer"}) {
    for (std::size_t slice = 0; slice < kSlices; ++slice) {
      std::vector<Kernel> kernels = {Kernel::kWriter, Kernel::kGather};
      if (std::string(target) == "builtin") {
        kernels.push_back(Kernel::kConvert);
      }
      parts.push_back({target, kernels, random / (7 * kSlices) + 1,
                       1 + (slice << 32), false});
    }
  }
  for (const LedgerEntry& entry : Ledger()) {
    parts.push_back(
        {entry.target, entry.kernels, Number("VERDICT_CASES", 200), 1, true});
  }
  return parts;
}

class Verdicts : public testing::TestWithParam<Part> {};

TEST_P(Verdicts, AreTheHosts) {
  const auto device = DescribeDevice(DefaultCudaBackend());
  if (!device.ok()) GTEST_SKIP() << "no GPU: " << device.status().message();
  const Part& part = GetParam();
  auto targets = MakeTargetSet(absl::StrCat(kOnDevice, part.target));
  ASSERT_TRUE(targets.ok()) << targets.status();
  const auto executor = MakeForeignExecutor();
  auto calls = LentCalls::Create(*targets, *executor, std::uint64_t{128} << 20);
  ASSERT_TRUE(calls.ok()) << calls.status();
  const Contracts contracts = CaseChecker(*targets, *executor).contracts();
  for (const Kernel kernel : part.kernels) {
    TwiceCounts counts;
    const absl::Status s = JudgeFamiliesTwice(
        **calls, *targets, contracts, kernel, part.cases, part.seed, &counts);
    EXPECT_TRUE(s.ok()) << part.target << ": " << s.message();
    if (!part.wrong) {
      EXPECT_EQ(counts.failed, 0u) << part.target;
      EXPECT_EQ(counts.not_made, 0u) << part.target;
    }
    std::printf(
        "verdicts: %s %s passed=%zu by_host=%zu failed=%zu not_made=%zu\n",
        part.target.c_str(), KernelName(kernel), counts.passed, counts.by_host,
        counts.failed, counts.not_made);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Verdicts, testing::ValuesIn(Parts()),
                         [](const testing::TestParamInfo<Part>& info) {
                           return absl::StrCat(info.index);
                         });

}  // namespace
}  // namespace mlafuzz
