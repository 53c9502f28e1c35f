// Whole campaigns on Python modules that misbehave: each ends with a verdict of
// its kind on a case that shows it, goes on to its last case, and leaves
// nothing behind.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "corpus/codec.h"
#include "fuzz/testing/campaigns.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

// The one that tools/setup.sh installs numpy for.
constexpr char kPython[] = "/usr/bin/python3";

CampaignOptions ModuleCampaign(const std::string& name,
                               const std::string& kernel) {
  setenv("MLAFUZZ_PYTHON_RUNNER",
         fs::absolute("kernels/python/runner.py").c_str(), 1);
  CampaignOptions options =
      ShortCampaign("python:" + fs::absolute(name).string(), {kernel});
  options.targets.set_python(kPython);
  return options;
}

// Living processes whose command line names the runner of modules.
int Runners() {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string words;
    std::getline(file, words);
    if (words.find("/kernels/python/runner.py") != std::string::npos) ++count;
  }
  return count;
}

struct Misbehaviour {
  const char* name;
  const char* verdict;  // "pass": it does not misbehave
  const char* says;     // in the cause of its first finding
};

class Module : public testing::TestWithParam<Misbehaviour> {};

TEST_P(Module, EndsWithAVerdictOfItsKind) {
  const int before = Runners();
  CampaignOptions options = ModuleCampaign(
      std::string("kernels/python/testing/misbehave.py:") + GetParam().name,
      "convert");
  // Each death costs the start of an interpreter, each hang some seconds.
  options.cases = std::string(GetParam().verdict) == "hang" ? 24 : 60;
  options.targets.set_call_seconds(1);
  options.targets.set_resident_mib(256);
  const CampaignResult result = RunShort(options);
  EXPECT_EQ(result.totals.cases, options.cases);
  EXPECT_EQ(result.respawns, 0);  // the worker itself lives on
  EXPECT_EQ(Runners(), before);
  if (std::string(GetParam().verdict) == "pass") {
    EXPECT_TRUE(result.findings.empty())
        << result.findings.all()[0].failure.cause();
    EXPECT_EQ(ExitCode(result), 0);
    return;
  }
  EXPECT_EQ(ExitCode(result), 1);
  ASSERT_FALSE(result.findings.empty());
  const Finding& f = result.findings.all()[0];
  std::printf("%s: %s\n", GetParam().name, f.failure.cause().c_str());
  EXPECT_EQ(f.failure.verdict(), GetParam().verdict) << f.failure.cause();
  EXPECT_NE(f.failure.cause().find(GetParam().says), std::string::npos)
      << f.failure.cause();
  // All of them misbehave where there are three tokens or more.
  const auto c = ParseCaseBinary(f.case_binary);
  ASSERT_TRUE(c.ok());
  const Convert& call = c->steps(static_cast<int>(f.failure.step())).convert();
  EXPECT_GE(call.token_indices().rows(), 3u);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Module,
    testing::Values(
        Misbehaviour{"Right", "pass", ""},
        Misbehaviour{"Raises", "fail", "ValueError: "},
        Misbehaviour{"RaisesWithLongText", "fail", "RuntimeError: long"},
        Misbehaviour{"WrongDtype", "fail", "dtype int64, expected int32"},
        Misbehaviour{"WrongShape", "fail", "returned out with shape"},
        Misbehaviour{"NoArray", "fail", "returned a builtins.list for out"},
        Misbehaviour{"NonContiguous", "pass", ""},
        Misbehaviour{"WritesInputs", "fail", ""},
        Misbehaviour{"Sleeps", "hang", "no end after 1 s"},
        Misbehaviour{"Exits", "protocol", "exit code 7"},
        Misbehaviour{"SysExits", "protocol", "exit code 1"},
        Misbehaviour{"Prints", "pass", ""}, Misbehaviour{"Cached", "fail", ""},
        Misbehaviour{"Leaks", "oom", "more than 256 MiB"},
        Misbehaviour{"Segfaults", "crash", "misbehave.py"},
        Misbehaviour{"Spawns", "protocol", "left 1 processes running"},
        Misbehaviour{"ClosesPipe", "protocol", "closed file descriptors"},
        Misbehaviour{"Recurses", "fail", "RecursionError"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlafuzz
