// Whole campaigns on libraries that misbehave: each ends with a verdict of its
// kind on a case that shows it, goes on to its last case, and leaves nothing
// behind.

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "corpus/codec.h"
#include "fuzz/testing/campaigns.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

// Living processes whose command line names the runner.
int Runners() {
  int count = 0;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    std::ifstream file(std::string("/proc/") + entry->d_name + "/cmdline");
    std::string line;
    std::getline(file, line, '\0');
    if (line.size() >= 15 &&
        line.compare(line.size() - 15, 15, "/foreign/runner") == 0) {
      ++count;
    }
  }
  closedir(proc);
  return count;
}

struct Misbehaviour {
  const char* library;
  const char* verdict;  // "pass": it does not misbehave
};

class ForeignCampaign : public testing::TestWithParam<Misbehaviour> {};

TEST_P(ForeignCampaign, EndsWithAVerdictOfItsKind) {
  const std::string library =
      std::filesystem::absolute(std::string("kernels/foreign/testing/") +
                                GetParam().library + ".so")
          .string();
  setenv("MLAFUZZ_RUNNER",
         std::filesystem::absolute("kernels/foreign/runner").c_str(), 1);
  const int before = Runners();
  CampaignOptions options = ShortCampaign("lib:" + library, {"convert"});
  options.cases = 300;
  options.targets.set_call_seconds(0.25);
  options.targets.set_resident_mib(64);
  // Each of these takes its time.
  if (std::string(GetParam().verdict) != "fail") options.cases = 60;
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(result.totals.cases, options.cases);
  EXPECT_EQ(result.respawns, 0);  // the worker itself lives on
  if (std::string(GetParam().verdict) == "pass") {
    EXPECT_TRUE(result.findings.empty())
        << result.findings.all()[0].failure.cause();
    EXPECT_EQ(ExitCode(result), 0);
    return;
  }
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_FALSE(result.findings.empty());
  const Finding& f = result.findings.all()[0];
  EXPECT_EQ(f.failure.verdict(), GetParam().verdict) << f.failure.cause();
  std::printf("%s: %s\n", GetParam().library, f.failure.cause().c_str());
  // All of them misbehave where there are three tokens or more.
  const auto c = ParseCaseBinary(f.case_binary);
  ASSERT_TRUE(c.ok());
  const Convert& call = c->steps(static_cast<int>(f.failure.step())).convert();
  EXPECT_GE(call.token_indices().rows(), 3u);
  EXPECT_EQ(Runners(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ForeignCampaign,
    testing::Values(
        Misbehaviour{"right", "pass"}, Misbehaviour{"sleeps_at_start", "pass"},
        Misbehaviour{"prints", "pass"}, Misbehaviour{"segfault", "crash"},
        Misbehaviour{"null", "crash"}, Misbehaviour{"abort", "crash"},
        Misbehaviour{"exit_0", "protocol"}, Misbehaviour{"loop", "hang"},
        Misbehaviour{"forks", "protocol"},
        Misbehaviour{"writes_inputs", "fail"},
        Misbehaviour{"writes_past", "fail"},
        Misbehaviour{"garbage", "protocol"}, Misbehaviour{"allocates", "oom"},
        Misbehaviour{"closes_pipe", "protocol"},
        Misbehaviour{"uninitialised", "fail"},
        Misbehaviour{"errors_in_bytes", "fail"}),
    [](const auto& info) { return std::string(info.param.library); });

}  // namespace
}  // namespace mlafuzz
