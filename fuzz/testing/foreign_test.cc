// Whole campaigns on libraries that misbehave: each ends with a verdict of its
// kind on a case that shows it, goes on to its last case, and leaves nothing
// behind.

#include "fuzz/worker/foreign.h"

#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "corpus/codec.h"
#include "fuzz/testing/campaigns.h"
#include "fuzz/worker/session.h"
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

// ---- libraries that are wrong for reasons of no contract field

CampaignOptions LibraryCampaign(const std::string& library,
                                const std::string& kernel) {
  setenv("MLAFUZZ_RUNNER",
         std::filesystem::absolute("kernels/foreign/runner").c_str(), 1);
  CampaignOptions options =
      ShortCampaign("lib:" + std::filesystem::absolute(
                                 "kernels/foreign/testing/" + library + ".so")
                                 .string(),
                    {kernel});
  options.cases = 600;
  return options;
}

class Damage : public testing::TestWithParam<const char*> {};

TEST_P(Damage, IsSaidAndNoFieldIsBlamed) {
  const CampaignResult result = RunShort(LibraryCampaign(GetParam(), "writer"));
  ASSERT_FALSE(result.findings.empty());
  for (const Finding& f : result.findings.all()) {
    EXPECT_EQ(f.failure.field(), "") << f.failure.cause();
    EXPECT_EQ(f.failure.key().find('='), std::string::npos) << f.failure.key();
    std::printf("%s: %s\n", GetParam(), f.failure.cause().c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Damage,
                         testing::Values("writes_before", "writes_behind",
                                         "throws", "dies_once", "wrong_once",
                                         "wrong_every_sixth"));

// Calls that it declines are no pass, and the report says that there were some.
TEST(NotImplemented, IsCountedAndSaid) {
  const CampaignResult result =
      RunShort(LibraryCampaign("declines", "convert"));
  EXPECT_TRUE(result.findings.empty());
  EXPECT_GT(
      result.totals.not_implemented[static_cast<std::size_t>(Kernel::kConvert)],
      0u);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.back().find("the convert answered "),
            std::string::npos)
      << result.notes.back();
  const CampaignResult right = RunShort(LibraryCampaign("right", "convert"));
  EXPECT_TRUE(right.notes.empty()) << right.notes[0];
}

// What is met while one is minimised and gets the same name takes neither its
// folder nor its files: RunShort() looks for them.
TEST(Findings, KeepTheirFilesWhateverElseIsMet) {
  CampaignOptions options = LibraryCampaign("rounds_up", "writer");
  options.follow_up = true;
  options.seconds = 60;
  const CampaignResult result = RunShort(options);
  ASSERT_FALSE(result.findings.empty());
  for (const Finding& finding : result.findings.all()) {
    EXPECT_NE(finding.minimal_file, "") << finding.note;
  }
}

// Faults that show in calls of a kind that is rare: four times the cases that
// the slowest of five seeds took.
struct RareCall {
  const char* library;
  std::uint64_t cases;
};
class Rare : public testing::TestWithParam<RareCall> {};

TEST_P(Rare, IsFound) {
  CampaignOptions options = LibraryCampaign(GetParam().library, "writer");
  options.cases = GetParam().cases;
  options.stop_on_first = true;
  options.settle = false;
  const CampaignResult result = RunShort(options);
  ASSERT_FALSE(result.findings.empty());
  const Finding& found = result.findings.all()[0];
  EXPECT_EQ(found.failure.kernel(), "writer");
  std::printf("%s: %llu cases: %s\n", GetParam().library,
              static_cast<unsigned long long>(found.cases_to_find),
              found.failure.cause().c_str());
}

INSTANTIATE_TEST_SUITE_P(Each, Rare,
                         testing::Values(RareCall{"one_block", 58000},
                                         RareCall{"narrow_rope", 6000}),
                         [](const auto& info) {
                           return std::string(info.param.library);
                         });

// A fault of a process' n-th call: flaky, with the tries and the company.
class NowAndThen : public testing::TestWithParam<const char*> {};

TEST_P(NowAndThen, IsFlakyAndSaysInWhichCompanyItCame) {
  CampaignOptions options = LibraryCampaign(GetParam(), "writer");
  options.cases = 60;
  options.follow_up = true;
  const CampaignResult result = RunShort(options);
  ASSERT_FALSE(result.findings.empty());
  const Finding& f = result.findings.all()[0];
  EXPECT_EQ(f.failure.verdict(), "flaky") << f.note;
  EXPECT_EQ(f.same, 0);
  EXPECT_EQ(f.reruns, 3);
  EXPECT_GT(f.earlier_calls, 0u);
  EXPECT_TRUE(f.minimal_binary.empty());
  for (const std::string& words :
       {std::string("in 0 of 3 tries"),
        "a process that had made " + std::to_string(f.earlier_calls) +
            " calls before",
        std::string("runs of the case in one process")}) {
    EXPECT_NE(f.note.find(words), std::string::npos) << f.note;
  }
  // It comes back in the company of itself, and its command says so.
  EXPECT_GT(f.repeat, 1u) << f.note;
  std::printf("%s: %s\n", GetParam(), f.note.c_str());
}

INSTANTIATE_TEST_SUITE_P(Each, NowAndThen,
                         testing::Values("dies_once", "wrong_once",
                                         "wrong_every_sixth"));

// What went wrong becomes a program that stands alone, tried before it is
// written; the time for that is kept from fuzzing.
class Reproduced : public testing::TestWithParam<const char*> {};

TEST_P(Reproduced, IsBuiltRunAndWritten) {
  CampaignOptions options = LibraryCampaign(GetParam(), "convert");
  options.cases = 0;
  options.seconds = 40;
  options.stop_on_first = true;
  options.follow_up = true;
  const CampaignResult result = RunShort(options);
  ASSERT_FALSE(result.findings.empty());
  const Finding& f = result.findings.all()[0];
  ASSERT_NE(f.evidence, nullptr) << f.evidence_note;
  ASSERT_EQ(f.reproducers.size(), 2u);
  for (const Finding::Reproducer& r : f.reproducers) {
    EXPECT_TRUE(r.verified) << r.words;
    EXPECT_TRUE(std::filesystem::exists(options.out + "/" + r.path)) << r.path;
    std::printf("%s: %s\n", r.path.c_str(), r.words.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Reproduced,
                         testing::Values("segfault", "errors"));

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// The time is that of all of it, one call and its second, longer run apart.
TEST(Time, BoundsACampaignOnALibraryThatHangs) {
  CampaignOptions options = LibraryCampaign("loop", "convert");
  options.cases = 0;
  options.seconds = 4;
  options.targets.set_call_seconds(1);
  options.follow_up = true;
  const auto start = std::chrono::steady_clock::now();
  const CampaignResult result = RunShort(options);
  // One call, and what a crowded machine takes to start and end processes.
  EXPECT_LT(SecondsSince(start), 4 + 5 + 1.5);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings.all()[0].failure.verdict(), "hang");
}

// A library that is overwritten ends the campaign; what was found stays.
TEST(Library, ThatChangesEndsTheCampaign) {
  namespace fs = std::filesystem;
  CampaignOptions options = LibraryCampaign("writes_inputs", "convert");
  const fs::path from = options.targets.all().substr(4);
  const fs::path library = fs::path(testing::TempDir()) / "changes.so";
  fs::copy_file(from, library, fs::copy_options::overwrite_existing);
  options.cases = 0;
  options.seconds = 60;
  options.targets.set_all("lib:" + library.string());
  const auto set = MakeTargets(options.targets);
  ASSERT_TRUE(set.ok()) << set.status();
  NoteLibraries(*set, &options.targets);
  std::thread overwrites([&] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    fs::copy_file(from.parent_path() / "segfault.so", library.string() + ".new",
                  fs::copy_options::overwrite_existing);
    fs::rename(library.string() + ".new", library);
  });
  const auto start = std::chrono::steady_clock::now();
  const CampaignResult result = RunShort(options);
  overwrites.join();
  EXPECT_LT(SecondsSince(start), 30);
  EXPECT_NE(result.error.find("the file is another since it was loaded"),
            std::string::npos)
      << result.error;
  EXPECT_EQ(ExitCode(result), 2);
  ASSERT_FALSE(result.findings.empty());
  for (const Finding& f : result.findings.all()) {
    EXPECT_EQ(f.failure.verdict(), "fail") << f.failure.cause();
  }
}

}  // namespace
}  // namespace mlafuzz
