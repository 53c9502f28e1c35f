#include "fuzz/campaign/out_folder.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

class OutFolderTest : public testing::Test {
 protected:
  OutFolderTest() : path_(testing::TempDir() + "/out") {
    fs::remove_all(path_);
  }
  absl::StatusOr<OutFolder> Claim() {
    return OutFolder::Claim(path_, "out", "mlafuzz campaign --seed=5");
  }
  void Leave(const std::string& file) {
    fs::create_directories(fs::path(path_ + "/" + file).parent_path());
    std::ofstream(path_ + "/" + file) << file;
  }
  bool Has(const std::string& file) { return fs::exists(path_ + "/" + file); }

  std::string path_;
};

TEST_F(OutFolderTest, HoldsOneCampaignAtATime) {
  {
    const auto first = Claim();
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_FALSE(first->kept_previous());
    Leave("report.txt");
    const auto second = Claim();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().message(),
              absl::StrCat("the output folder out belongs to a running "
                           "campaign (process ",
                           getpid(),
                           ": mlafuzz campaign --seed=5); choose another one "
                           "with --out=DIR, or stop that one"));
    EXPECT_TRUE(Has("report.txt")) << "a refusal leaves no trace";
  }
  EXPECT_TRUE(Claim().ok());
}

TEST_F(OutFolderTest, KeepsTheLastResults) {
  ASSERT_TRUE(Claim().ok());
  Leave("findings/a/case.txtpb");
  Leave("report.json");
  Leave("note.txt");
  const auto second = Claim();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->kept_previous());
  EXPECT_FALSE(Has("findings"));
  EXPECT_TRUE(Has("previous/findings/a/case.txtpb"));
  EXPECT_TRUE(Has("previous/report.json"));
  EXPECT_TRUE(Has("note.txt"));
}

TEST_F(OutFolderTest, KeepsOneGeneration) {
  ASSERT_TRUE(Claim().ok());
  Leave("findings/a/case.txtpb");
  ASSERT_TRUE(Claim().ok());
  Leave("report.txt");
  ASSERT_TRUE(Claim().ok());
  EXPECT_FALSE(Has("previous/findings"));
  EXPECT_TRUE(Has("previous/report.txt"));
}

TEST_F(OutFolderTest, TakesNobodysFiles) {
  Leave("corpus/BUILD.bazel");
  const auto claimed = Claim();
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.status().message(),
            "the output folder out has a corpus that no campaign wrote, and "
            "this one would take its place; choose another one with --out=DIR");
  EXPECT_TRUE(Has("corpus/BUILD.bazel"));
  EXPECT_FALSE(Has(".mlafuzz"));
  // The folder of a campaign from before there were lock files.
  std::ofstream(path_ + "/report.json") << "{ \"schema_version\": 1 }";
  EXPECT_TRUE(Claim().ok());
  EXPECT_TRUE(Has("previous/corpus/BUILD.bazel"));
}

TEST_F(OutFolderTest, NoFolderIsAnErrorWithAWayOut) {
  const auto claimed = OutFolder::Claim("/dev/null/x", "", "");
  ASSERT_FALSE(claimed.ok());
  EXPECT_NE(claimed.status().message().find("choose another one"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace mlafuzz
