#include "fuzz/changes/git_tree.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A repository of its own: main with a.txt and cases/x, and a branch `change`
// that is checked out.
class GitTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "there is no git here";
    }
    // Nothing of this machine's own configuration.
    setenv("HOME", ::testing::TempDir().c_str(), 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    for (const char* who : {"AUTHOR", "COMMITTER"}) {
      setenv(absl::StrCat("GIT_", who, "_NAME").c_str(), "t", 1);
      setenv(absl::StrCat("GIT_", who, "_EMAIL").c_str(), "t@t", 1);
    }
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/git tree'",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/cases");
    Git("init -q -b main");
    Write("a.txt", "one");
    Write("cases/x", std::string("x\0y", 3));
    Commit();
    Git("checkout -q -b change");
  }

  void Git(const std::string& words) {
    ASSERT_EQ(std::system(absl::StrCat("cd \"", folder_, "\" && git ", words,
                                       " > /dev/null 2>&1")
                              .c_str()),
              0)
        << words;
  }
  void Commit() { Git("add -A && git commit -q -m words"); }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(absl::StrCat(folder_, "/", name)) << bytes;
  }
  Names Changed(const std::string& revision) {
    const auto tree = GitTree::Open(folder_, revision);
    EXPECT_TRUE(tree.ok()) << tree.status();
    if (!tree.ok()) return {};
    const auto changed = tree->Changed();
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.ok() ? *changed : Names();
  }

  std::string folder_;
};

TEST_F(GitTreeTest, WhatIsCommittedAndWhatIsNot) {
  EXPECT_EQ(Changed("main"), Names());
  Write("b.txt", "two");
  Commit();
  Write("a.txt", "changed");
  Write("new file\n.cu", "not added");
  Write(".gitignore", "*.o\n");
  Write("c.o", "ignored");
  EXPECT_EQ(Changed("main"),
            (Names{".gitignore", "a.txt", "b.txt", "new file\n.cu"}));
  EXPECT_EQ(Changed("HEAD"), (Names{".gitignore", "a.txt", "new file\n.cu"}));
}

TEST_F(GitTreeTest, ARenameIsBothNames) {
  Git("mv a.txt z.txt");
  EXPECT_EQ(Changed("main"), (Names{"a.txt", "z.txt"}));
}

TEST_F(GitTreeTest, WhatMainDidSinceIsNotOurs) {
  Write("b.txt", "ours");
  Commit();
  Git("checkout -q main");
  Write("theirs.txt", "theirs");
  Commit();
  Git("checkout -q change");
  EXPECT_EQ(Changed("main"), Names{"b.txt"});
}

TEST_F(GitTreeTest, FilesAreThoseOfTheRevision) {
  Write("cases/x", "changed");
  Write("cases/y", "new");
  Commit();
  const auto tree = GitTree::Open(folder_ + "/cases", "main");
  ASSERT_TRUE(tree.ok()) << tree.status();
  const auto files = tree->FilesAt("cases");
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ((*files)[0].first, "cases/x");
  EXPECT_EQ((*files)[0].second, std::string("x\0y", 3));
  const auto none = tree->FilesAt("nothing");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
}

TEST_F(GitTreeTest, HistoriesWithoutACommonCommit) {
  Git("checkout -q --orphan alone");
  Write("b.txt", "two");  // the same commit would be main's own
  Commit();
  const auto tree = GitTree::Open(folder_, "main");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->fork(), "");
  EXPECT_EQ(Changed("main"), Names{"b.txt"});
}

TEST_F(GitTreeTest, WhatIsNoCommitIsRefused) {
  for (const char* revision : {"no-such", "main:a.txt", "--help", ""}) {
    const auto tree = GitTree::Open(folder_, revision);
    ASSERT_FALSE(tree.ok()) << revision;
    EXPECT_TRUE(absl::StrContains(tree.status().message(),
                                  "is no commit of this clone"))
        << tree.status();
  }
  const auto outside = GitTree::Open("/", "main");
  ASSERT_FALSE(outside.ok());
  EXPECT_TRUE(absl::StrContains(outside.status().message(),
                                "/ is in no work tree of Git"))
      << outside.status();
}

}  // namespace
}  // namespace mlafuzz
