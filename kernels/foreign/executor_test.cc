#include "kernels/foreign/executor.h"

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/foreign/foreign_target.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

std::string Library(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"),
                      "/mlafuzz/kernels/foreign/testing/", name, ".so");
}

RunnerLimits Limits() {
  RunnerLimits limits;
  limits.call_seconds = 1;
  limits.resident_bytes = std::uint64_t{64} << 20;
  return limits;
}

TargetSet Load(const std::string& name) {
  auto target = ForeignTarget::Load(Library(name), Limits());
  if (!target.ok()) {
    ADD_FAILURE() << target.status();
    std::abort();
  }
  TargetSet set;
  set.targets.fill(*target);
  return set;
}

// A conversion of `tokens` tokens, eight indices each.
const CaseImage& Conversion(int tokens) {
  static auto* images = new std::vector<CaseImage>(8);
  CaseImage& image = (*images)[static_cast<std::size_t>(tokens)];
  if (image.steps.empty()) {
    std::string ids;
    for (int i = 0; i < tokens; ++i) absl::StrAppend(&ids, i ? ", 0" : "0");
    image = test::Image(test::ParseCase(absl::StrCat(
        "pool { page_size: 4 pages: 9 } steps { convert { valid_count: true "
        "request_ids { values: [",
        ids,
        "] } block_table { rows: 1 columns: 2 pages { values: [7, 2] } } "
        "token_indices { width: 8 limit: 8 valid: 8 rows: ",
        tokens, " } } }")));
  }
  return image;
}

std::vector<CaseImage> Cases(std::initializer_list<int> tokens) {
  std::vector<CaseImage> images;
  for (const int n : tokens) images.push_back(Conversion(n));
  return images;
}

bool SameAsBuiltin(const CaseImage& image, const Observation& seen) {
  return test::SameOutcome(test::Run("builtin", image), seen);
}

// Processes whose parent is this one.
int Children() {
  int count = 0;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    std::ifstream stat(absl::StrCat("/proc/", entry->d_name, "/stat"));
    std::string line;
    if (!std::getline(stat, line)) continue;
    // "pid (name) state ppid": the name may hold anything.
    const char* rest = std::strrchr(line.c_str(), ')');
    if (rest == nullptr) continue;
    char state;
    int parent;
    if (std::sscanf(rest + 1, " %c %d", &state, &parent) == 2 &&
        parent == getpid()) {
      ++count;
    }
  }
  closedir(proc);
  return count;
}

struct Misbehaviour {
  const char* library;
  CallStatus status;
  const char* message;  // part of it
};

class Misbehaves : public testing::TestWithParam<Misbehaviour> {};

// The right kind on the right case, the other cases unharmed, nothing left.
TEST_P(Misbehaves, EndsAsItsOwnKind) {
  const TargetSet targets = Load(GetParam().library);
  const std::vector<CaseImage> images = Cases({1, 2, 3, 1, 2});
  std::vector<Observation> seen;
  {
    const auto executor = MakeForeignExecutor();
    ASSERT_TRUE(executor->Run(targets, images, &seen).ok());
    ASSERT_EQ(seen.size(), images.size());
    for (const std::size_t i : {0, 1, 3, 4}) {
      EXPECT_TRUE(SameAsBuiltin(images[i], seen[i])) << i;
    }
    ASSERT_FALSE(seen[2].steps.empty());
    EXPECT_EQ(seen[2].steps[0].status, GetParam().status)
        << seen[2].steps[0].message;
    EXPECT_TRUE(absl::StrContains(seen[2].steps[0].message, GetParam().message))
        << seen[2].steps[0].message;
    // And the campaign goes on.
    ASSERT_TRUE(executor->Run(targets, Cases({2}), &seen).ok());
    EXPECT_TRUE(SameAsBuiltin(Conversion(2), seen[0]));
  }
  EXPECT_EQ(Children(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Misbehaves,
    testing::Values(
        Misbehaviour{"segfault", CallStatus::kCrash, "SIGSEGV at "},
        Misbehaviour{"null", CallStatus::kCrash, "SIGSEGV at a null pointer"},
        Misbehaviour{"abort", CallStatus::kCrash,
                     "SIGABRT; it printed \"misbehave: assertion"},
        Misbehaviour{"exit_0", CallStatus::kProtocol,
                     "ended its process with exit code 0"},
        Misbehaviour{"loop", CallStatus::kHang,
                     "no end after 1 s; in a fresh process: no end after 4 s"},
        Misbehaviour{"forks", CallStatus::kProtocol, "processes running"},
        Misbehaviour{"garbage", CallStatus::kProtocol, "garbage"},
        Misbehaviour{"allocates", CallStatus::kOutOfMemory, "64 MiB"},
        Misbehaviour{"closes_pipe", CallStatus::kProtocol,
                     "closed its connection"},
        Misbehaviour{"errors", CallStatus::kError, "launch failed: 719"},
        Misbehaviour{"errors_in_bytes", CallStatus::kError,
                     "\\xff\\xfe \\x1b[31mbad\\x0a"},
        Misbehaviour{"lies_about_status", CallStatus::kError,
                     "it returned 4711, which is no status"}),
    [](const auto& info) { return std::string(info.param.library); });

// The limit is 1 s, the call takes 1.5: on a machine that is busy that may be.
TEST(ForeignExecutor, WhatEndsInFourTimesTheLimitIsNoHang) {
  const TargetSet targets = Load("slow");
  for (const auto& cases : {Cases({3}), Cases({1, 3, 2})}) {
    std::vector<Observation> seen;
    const auto executor = MakeForeignExecutor();
    ASSERT_TRUE(executor->Run(targets, cases, &seen).ok());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_TRUE(SameAsBuiltin(cases[i], seen[i])) << i;
    }
    EXPECT_GE(executor->counts().deaths, 1u);
  }
}

TEST(ForeignExecutor, WritesOverInputsAreSeen) {
  std::vector<Observation> seen;
  const auto executor = MakeForeignExecutor();
  ASSERT_TRUE(
      executor->Run(Load("writes_inputs"), Cases({1, 3, 2}), &seen).ok());
  EXPECT_TRUE(SameAsBuiltin(Conversion(1), seen[0]));
  EXPECT_TRUE(SameAsBuiltin(Conversion(2), seen[2]));
  ASSERT_EQ(seen[1].steps[0].strays.size(), 1u);
  EXPECT_EQ(seen[1].steps[0].strays[0].tensor, TensorId::kBlockTable);
}

TEST(ForeignExecutor, WritesPastBuffersAreSeen) {
  std::vector<Observation> seen;
  const auto executor = MakeForeignExecutor();
  ASSERT_TRUE(executor->Run(Load("writes_past"), Cases({1, 3, 2}), &seen).ok());
  EXPECT_TRUE(SameAsBuiltin(Conversion(1), seen[0]));
  EXPECT_TRUE(SameAsBuiltin(Conversion(2), seen[2]));
  ASSERT_EQ(seen[1].steps[0].strays.size(), 2u);
}

// The limit is 64 MiB, and no call takes as long as a look at it.
TEST(ForeignExecutor, LeaksOfShortCallsAreSeen) {
  std::vector<Observation> seen;
  const auto executor = MakeForeignExecutor();
  const TargetSet leaks = Load("leaks");
  bool limited = false;
  for (int run = 0; run < 400 && !limited; ++run) {
    ASSERT_TRUE(executor->Run(leaks, Cases({3}), &seen).ok());
    limited = absl::StrContains(seen[0].steps[0].message, "64 MiB of memory");
  }
  EXPECT_TRUE(limited);
}

TEST(ForeignExecutor, ScratchHasRedzonesAndHoldsAnything) {
  std::vector<Observation> seen;
  const auto executor = MakeForeignExecutor();
  ASSERT_TRUE(
      executor->Run(Load("overruns_scratch"), Cases({1, 3, 3, 2}), &seen).ok());
  EXPECT_TRUE(SameAsBuiltin(Conversion(1), seen[0]));
  EXPECT_TRUE(SameAsBuiltin(Conversion(2), seen[3]));
  for (const int i : {1, 2}) {
    EXPECT_EQ(seen[i].steps[0].status, CallStatus::kFault);
    EXPECT_EQ(seen[i].steps[0].message,
              "writes 2 bytes outside of its scratch memory, from byte -1 to "
              "100");
  }
}

TEST(ForeignExecutor, UnwrittenOutputHoldsPoison) {
  std::vector<Observation> seen;
  const auto executor = MakeForeignExecutor();
  ASSERT_TRUE(executor->Run(Load("uninitialised"), Cases({3}), &seen).ok());
  EXPECT_EQ(seen[0].steps[0].status, CallStatus::kOk);
  EXPECT_FALSE(SameAsBuiltin(Conversion(3), seen[0]));
}

// Slow starts and lots of output are nobody's fault.
TEST(ForeignExecutor, SlowStartAndOutputAreFine) {
  for (const char* library : {"sleeps_at_start", "prints"}) {
    std::vector<Observation> seen;
    const auto executor = MakeForeignExecutor();
    ASSERT_TRUE(executor->Run(Load(library), Cases({3}), &seen).ok());
    EXPECT_TRUE(SameAsBuiltin(Conversion(3), seen[0])) << library;
  }
}

TEST(ForeignExecutor, StartTakesItsTime) {
  RunnerLimits limits = Limits();
  limits.start_seconds = 0.5;
  const auto target = ForeignTarget::Load(Library("sleeps_at_start"), limits);
  ASSERT_FALSE(target.ok());
  EXPECT_TRUE(absl::StrContains(target.status().message(), "--start-timeout"))
      << target.status();
  EXPECT_EQ(Children(), 0);
}

// N cases at once observe what N single ones do.
TEST(ForeignExecutor, BatchIsSingles) {
  const TargetSet targets = Load("right");
  std::vector<CaseImage> images;
  for (int i = 0; i < 300; ++i) images.push_back(Conversion(1 + i % 7));
  const auto executor = MakeForeignExecutor();
  std::vector<Observation> together;
  ASSERT_TRUE(executor->Run(targets, images, &together).ok());
  EXPECT_EQ(executor->counts().starts, 1u);
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<Observation> alone;
    ASSERT_TRUE(executor->Run(targets, {&images[i], 1}, &alone).ok());
    EXPECT_TRUE(test::SameOutcome(alone[0], together[i])) << i;
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_TRUE(SameAsBuiltin(images[i], together[i])) << i;
  }
}

// One bad case among 4,096: found, confirmed alone three times, all others
// right.
void ExpectIsolated(const std::string& library, std::vector<std::size_t> bad,
                    std::uint64_t most_starts) {
  const TargetSet targets = Load(library);
  std::vector<CaseImage> images;
  for (int i = 0; i < kLargestBatch; ++i) images.push_back(Conversion(1));
  for (const std::size_t i : bad) images[i] = Conversion(3);
  const auto executor = MakeForeignExecutor();
  std::vector<Observation> seen;
  ASSERT_TRUE(executor->Run(targets, images, &seen).ok());
  const Observation right = test::Run("builtin", Conversion(1));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const bool wrong = std::find(bad.begin(), bad.end(), i) != bad.end();
    ASSERT_FALSE(seen[i].steps.empty()) << i;
    if (wrong) {
      EXPECT_EQ(seen[i].steps[0].status, CallStatus::kCrash) << i;
      EXPECT_EQ(seen[i].steps[0].message.find("not alone"), std::string::npos);
    } else {
      EXPECT_TRUE(test::SameOutcome(seen[i], right)) << i;
    }
  }
  std::printf("%s: %lu starts of a runner\n", library.c_str(),
              static_cast<unsigned long>(executor->counts().starts));
  EXPECT_LE(executor->counts().starts, most_starts);
}

TEST(Isolation, OneAmong4096) { ExpectIsolated("null", {2718}, 5); }
TEST(Isolation, TwoAmong4096) { ExpectIsolated("null", {17, 4095}, 9); }
// What one writes far away in a batch may hit another's tensors.
TEST(Isolation, WildWrite) { ExpectIsolated("segfault", {2718}, 6); }
TEST(Isolation, DiesLater) { ExpectIsolated("delayed", {1000}, 18); }

TEST(Isolation, OnlyInCompany) {
  const TargetSet targets = Load("in_company");
  std::vector<CaseImage> images(150, Conversion(1));
  const auto executor = MakeForeignExecutor();
  std::vector<Observation> seen;
  ASSERT_TRUE(executor->Run(targets, images, &seen).ok());
  int company = 0;
  for (const Observation& one : seen) {
    ASSERT_FALSE(one.steps.empty());
    if (one.steps[0].status == CallStatus::kOk) continue;
    EXPECT_EQ(one.steps[0].status, CallStatus::kCrash);
    EXPECT_TRUE(
        absl::StartsWith(one.steps[0].message,
                         "not alone, but in one process with the 99 cases"))
        << one.steps[0].message;
    ++company;
  }
  EXPECT_EQ(company, 1);
}

TEST(ForeignTarget, WhatCannotBeAttached) {
  const struct {
    std::string path;
    const char* why;
  } kTable[] = {
      {"/nonexistent/x.so", "no such file"},
      {"/etc/passwd", "/etc/passwd"},
      {Library("no_entry"), "exports no function mlafuzz_target"},
      {Library("unknown_field"), "tale"},
      {Library("no_kernel"), "has none of the four kernels"},
      {Library("crashes_at_start"),
       "ended while it was loaded: SIGSEGV (sent, not a fault)"},
      {Library("faults_at_start"),
       "ended while it was loaded: SIGSEGV at a null pointer"},
      {Library("closes_at_start"),
       "ended while it was loaded: closed file descriptors that it had not "
       "opened"},
      {testing::TempDir(), "a folder; name the shared library in it"},
  };
  for (const auto& row : kTable) {
    const auto target = ForeignTarget::Load(row.path, Limits());
    ASSERT_FALSE(target.ok()) << row.path;
    EXPECT_EQ(target.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(target.status().message(), row.why))
        << target.status();
  }
}

// Built against a header that ended before `convert`.
TEST(ForeignTarget, OlderHeader) {
  const auto target = ForeignTarget::Load(Library("older_header"), Limits());
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_TRUE((*target)->Implements(Kernel::kGather));
  EXPECT_FALSE((*target)->Implements(Kernel::kConvert));
  EXPECT_FALSE((*target)->Implements(Kernel::kDecode));
}

}  // namespace
}  // namespace mlafuzz
