#include "fuzz/testing/campaigns.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mlafuzz {

CampaignOptions ShortCampaign(const std::string& target,
                              const std::vector<std::string>& kernels) {
  CampaignOptions options;
  const char* engine = std::getenv("ENGINE");
  options.engine = {
      std::filesystem::absolute(engine != nullptr ? engine : "").string(),
      "plain"};
  options.targets.set_all(target);
  options.kernels = kernels;
  options.seed = 1;
  options.cases = 2000;
  // Of a crowded test machine; the verdicts do not depend on it.
  options.seconds = 120;
  options.out = testing::TempDir() + "/out";
  options.follow_up = false;
  options.quiet = true;
  return options;
}

CampaignResult RunShort(const CampaignOptions& options) {
  auto result = RunCampaign(options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  for (const Finding& finding : result->findings.all()) {
    EXPECT_EQ(finding.unwritten, "") << finding.id;
    std::vector<std::string> files = {finding.case_file, finding.minimal_file};
    for (const auto& shape : finding.shapes) files.push_back(shape.case_file);
    for (const std::string& file : files) {
      EXPECT_TRUE(file.empty() ||
                  std::filesystem::exists(options.out + "/" + file))
          << finding.id << ": " << file << " is not there";
    }
  }
  return *std::move(result);
}

}  // namespace mlafuzz
