#include "fuzz/campaign/lifecycle.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

std::string Folder(const std::string& name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string CaseOf(int slot) {
  Case c;
  c.mutable_pool()->set_page_size(1);
  c.mutable_pool()->set_pages(9);
  c.add_steps()->mutable_write()->mutable_slots()->add_values(slot);
  return CanonicalBinary(c);
}

constexpr char kTail[] = "writer/writer.tail=TAIL_UNCHANGED";
const SeenCause kSeen = {
    kTail, "writer", "a stale tail", {CaseOf(0), CaseOf(3)}};

// One campaign: what it saw, and what becomes of the examples that are rerun.
KnownCause CampaignWith(const std::string& out,
                        const std::vector<SeenCause>& seen,
                        const Lifecycle::Run& run,
                        const std::string& targets = "--target=lib:x") {
  auto lifecycle = Lifecycle::Open(out);
  EXPECT_TRUE(lifecycle.ok()) << lifecycle.status();
  lifecycle->Probe(targets,
                   [&](const std::string& binary, const KnownCause& cause) {
                     EXPECT_EQ(cause.key, kTail);
                     EXPECT_EQ(cause.kernel, "writer");
                     return run(binary, cause);
                   });
  const absl::Status updated = lifecycle->Update(targets, "2026-11-30", seen);
  EXPECT_TRUE(updated.ok()) << updated;
  EXPECT_EQ(lifecycle->causes().size(), 1u);
  const KnownCause cause = lifecycle->causes()[0];
  // What is on the disk is what it says.
  auto again = Lifecycle::Open(out);
  EXPECT_EQ(again->causes().size(), 1u);
  EXPECT_EQ(again->causes()[0].stage, cause.stage);
  EXPECT_EQ(again->causes()[0].passes, cause.passes);
  EXPECT_EQ(again->causes()[0].examples, cause.examples);
  return cause;
}

KnownCause Campaign(const std::string& out, const std::vector<SeenCause>& seen,
                    bool fails, const std::string& targets = "--target=lib:x") {
  return CampaignWith(
      out, seen,
      [fails](const std::string&, const KnownCause&) {
        return fails ? Outcome::kFails : Outcome::kPasses;
      },
      targets);
}

absl::StatusOr<Outcome> Unjudged() {
  return absl::FailedPreconditionError("nothing of writer was judged");
}

TEST(Lifecycle, MovesOnAndBack) {
  const std::string out = Folder("moves");
  KnownCause cause = Campaign(out, {kSeen}, false);
  EXPECT_EQ(cause.news, "new");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.examples, 2u);
  cause = Campaign(out, {}, true);
  EXPECT_EQ(cause.news, "still failing");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  cause = Campaign(out, {}, false);
  EXPECT_EQ(cause.news, "gone");
  EXPECT_EQ(cause.stage, Stage::kIncubating);
  cause = Campaign(out, {}, false);
  EXPECT_EQ(cause.news, "passes");
  EXPECT_EQ(cause.stage, Stage::kIncubating);
  cause = Campaign(out, {}, false);
  EXPECT_EQ(cause.stage, Stage::kRegression);
  EXPECT_EQ(cause.passes, kPassesToRest);
  EXPECT_TRUE(fs::exists(out + "/regression/" + cause.id + "/examples"));
  EXPECT_FALSE(fs::exists(out + "/crashing/" + cause.id));
  cause = Campaign(out, {}, true);
  EXPECT_EQ(cause.news, "back");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.passes, 0);
}

// What cannot be looked at is told, with its file; what can is run. The next
// finding writes it anew.
TEST(Lifecycle, TellsOfTornExamples) {
  const std::string out = Folder("torn");
  const std::string id = Campaign(out, {kSeen}, true).id;
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(out + "/crashing/" + id + "/examples")) {
    files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 2u);
  for (const char* torn :
       {"pool { page_size: 1 ste", "pool { page_size: 1 }", ""}) {
    std::ofstream(files[0]) << torn;
    auto lifecycle = Lifecycle::Open(out);
    int runs = 0;
    lifecycle->Probe("--target=lib:x",
                     [&](const std::string&, const KnownCause&) {
                       ++runs;
                       return Outcome::kPasses;
                     });
    EXPECT_EQ(runs, 1);
    ASSERT_EQ(lifecycle->notes().size(), 1u) << torn;
    const std::string& note = lifecycle->notes()[0];
    EXPECT_TRUE(absl::StartsWith(
        note, "1 of the 2 examples of crashing/" + id + " cannot be read"))
        << note;
    EXPECT_TRUE(absl::StrContains(note, files[0].string())) << note;
    EXPECT_TRUE(absl::StrContains(note, "; restore them, or remove")) << note;
  }
  Campaign(out, {kSeen}, true);
  auto whole = Lifecycle::Open(out);
  whole->Probe("--target=lib:x", [](const std::string&, const KnownCause&) {
    return Outcome::kPasses;
  });
  EXPECT_TRUE(whole->notes().empty());
}

TEST(Lifecycle, ComesBackByAFindingWithEveryExample) {
  const std::string out = Folder("back");
  Campaign(out, {kSeen}, false);
  for (int i = 0; i < kPassesToRest; ++i) Campaign(out, {}, false);
  SeenCause more = kSeen;
  more.cases = {CaseOf(3), CaseOf(7)};
  const KnownCause cause = Campaign(out, {more}, false);
  EXPECT_EQ(cause.news, "back");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.examples, 3u);
}

TEST(Lifecycle, LeavesWhatIsOfOtherTargets) {
  const std::string out = Folder("targets");
  Campaign(out, {kSeen}, false);
  const KnownCause cause = Campaign(out, {}, false, "--target=lib:y");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.passes, 0);
  // The same cause of another target is another.
  auto lifecycle = Lifecycle::Open(out);
  ASSERT_TRUE(lifecycle->Update("--target=lib:y", "2026-11-30", {kSeen}).ok());
  ASSERT_EQ(lifecycle->causes().size(), 2u);
  EXPECT_NE(lifecycle->causes()[0].id, lifecycle->causes()[1].id);
}

TEST(Lifecycle, StaysWhereNothingIsKnown) {
  const std::string out = Folder("unknown");
  Campaign(out, {kSeen}, false);
  auto lifecycle = Lifecycle::Open(out);
  lifecycle->Probe(
      "--target=lib:x",
      [](const std::string&, const KnownCause&) -> absl::StatusOr<Outcome> {
        return absl::CancelledError("the time was up");
      });
  ASSERT_TRUE(lifecycle->Update("--target=lib:x", "2026-11-30", {}).ok());
  EXPECT_EQ(lifecycle->causes()[0].news, "not run: the time was up");
  EXPECT_EQ(lifecycle->causes()[0].stage, Stage::kCrashing);
  EXPECT_EQ(lifecycle->causes()[0].passes, 0);
}

// A kernel that takes other pools now passes nothing.
TEST(Lifecycle, StaysWhereNothingIsJudged) {
  const std::string out = Folder("unjudged");
  Campaign(out, {kSeen}, false);
  KnownCause cause = CampaignWith(
      out, {},
      [](const std::string&, const KnownCause&) { return Unjudged(); });
  EXPECT_EQ(cause.news, "not run: nothing of writer was judged");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.passes, 0);
  // One example that is judged says how it is.
  for (const bool fails : {true, false}) {
    bool first = true;
    cause = CampaignWith(
        out, {},
        [&](const std::string&, const KnownCause&) -> absl::StatusOr<Outcome> {
          if (std::exchange(first, false)) return Unjudged();
          return fails ? Outcome::kFails : Outcome::kPasses;
        });
    EXPECT_EQ(cause.news, fails ? "still failing" : "gone");
  }
}

// A kernel that refuses every call has no cause less.
TEST(Lifecycle, IsNotGoneWhereItFailsOtherwise) {
  const std::string out = Folder("otherwise");
  Campaign(out, {kSeen}, false);
  const Lifecycle::Run otherwise = [](const std::string&, const KnownCause&) {
    return Outcome::kFailsOtherwise;
  };
  KnownCause cause = CampaignWith(out, {}, otherwise);
  EXPECT_EQ(cause.news, "still failing (fails otherwise)");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_TRUE(cause.still_fails());
  // By its own cause is the stronger word, whichever comes first.
  bool first = true;
  cause = CampaignWith(out, {}, [&](const std::string&, const KnownCause&) {
    return std::exchange(first, false) ? Outcome::kFailsOtherwise
                                       : Outcome::kFails;
  });
  EXPECT_EQ(cause.news, "still failing");
  Campaign(out, {}, false);
  cause = CampaignWith(out, {}, otherwise);
  EXPECT_EQ(cause.news, "back (fails otherwise)");
  EXPECT_EQ(cause.stage, Stage::kCrashing);
  EXPECT_EQ(cause.passes, 0);
  EXPECT_TRUE(cause.is_back());
}

TEST(Lifecycle, RefusesADamagedCauseByName) {
  const std::string out = Folder("damaged");
  const KnownCause cause = Campaign(out, {kSeen}, false);
  const std::string path = out + "/crashing/" + cause.id + "/cause.json";
  const std::string whole = *ReadFile(path);
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"),
        std::string("{}"), std::string("\xff\xfe"),
        std::string("{\"passes\": 1e99}")}) {
    std::ofstream(path) << text;
    const auto lifecycle = Lifecycle::Open(out);
    ASSERT_FALSE(lifecycle.ok()) << text;
    EXPECT_NE(std::string(lifecycle.status().message()).find(path),
              std::string::npos)
        << lifecycle.status();
  }
}

// A folder that was being made is none, and what is no cause stays.
// A folder whose cause.json somebody removed: left alone, and no obstacle.
TEST(Lifecycle, TakesAnotherNameBesideAFolderOfNobody) {
  const std::string out = Folder("nobody");
  const std::string old = out + "/crashing/writer-tail-tail-unchanged";
  fs::create_directories(old + "/examples");
  auto lifecycle = Lifecycle::Open(out);
  ASSERT_TRUE(lifecycle.ok()) << lifecycle.status();
  const absl::Status updated =
      lifecycle->Update("--target=lib:x", "2026-11-30", {kSeen});
  ASSERT_TRUE(updated.ok()) << updated;
  ASSERT_EQ(lifecycle->causes().size(), 1u);
  EXPECT_EQ(lifecycle->causes()[0].id, "writer-tail-tail-unchanged-2");
  EXPECT_TRUE(fs::exists(old));
  EXPECT_FALSE(fs::exists(old + "/cause.json"));
}

TEST(Lifecycle, ForgetsWhatWasNotFinished) {
  const std::string out = Folder("unfinished");
  const std::string half = out + "/crashing/.new-writer-tail/examples";
  fs::create_directories(half);
  fs::create_directories(out + "/crashing/my notes");
  std::ofstream(out + "/regression") << "a file of that name";
  auto lifecycle = Lifecycle::Open(out);
  ASSERT_TRUE(lifecycle.ok()) << lifecycle.status();
  EXPECT_TRUE(lifecycle->causes().empty());
  EXPECT_FALSE(fs::exists(half));
  EXPECT_TRUE(fs::exists(out + "/crashing/my notes"));
}

// A full disk: nothing half made stays, and what was known is as it was.
TEST(Lifecycle, LeavesNothingHalfMadeOnAFullDisk) {
  const std::string out = Folder("full");
  if (mount("none", out.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system: "
                 << std::strerror(errno);
  }
  absl::Cleanup unmount = [&out] { umount2(out.c_str(), MNT_DETACH); };
  Campaign(out, {kSeen}, false);
  SeenCause large = {"writer/writer.scale=SCALE_ONE", "writer", "scales", {}};
  for (int i = 0; i < 64; ++i) large.cases.push_back(CaseOf(i));
  auto lifecycle = Lifecycle::Open(out);
  const absl::Status updated =
      lifecycle->Update("--target=lib:x", "2026-12-01", {large});
  EXPECT_TRUE(absl::StrContains(updated.message(), "No space left")) << updated;
  EXPECT_EQ(lifecycle->causes().size(), 1u);
  const fs::directory_iterator left(out + "/crashing");
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
  auto again = Lifecycle::Open(out);
  ASSERT_EQ(again->causes().size(), 1u);
  EXPECT_EQ(again->causes()[0].key, kTail);
  EXPECT_EQ(again->causes()[0].examples, kSeen.cases.size());
}

// Nothing is lost where it cannot move.
TEST(Lifecycle, SaysWhatCannotBeWritten) {
  const std::string out = Folder("blocked");
  Campaign(out, {kSeen}, false);
  std::ofstream(out + "/incubating") << "a file of that name";
  auto lifecycle = Lifecycle::Open(out);
  lifecycle->Probe("--target=lib:x", [](const std::string&, const KnownCause&) {
    return Outcome::kPasses;
  });
  const absl::Status updated =
      lifecycle->Update("--target=lib:x", "2026-11-30", {});
  EXPECT_FALSE(updated.ok());
  EXPECT_NE(std::string(updated.message()).find("/incubating"),
            std::string::npos)
      << updated;
  EXPECT_EQ(Lifecycle::Open(out)->causes()[0].stage, Stage::kCrashing);
}

}  // namespace
}  // namespace mlafuzz
