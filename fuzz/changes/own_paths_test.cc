// What this repository's own .mlafuzz-paths says of its kernels is so: a file
// is of at least the kernels of all that include it.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "corpus/codec.h"
#include "fuzz/changes/path_map.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

// Paths of the kernels' sources, and of what else the test was given.
std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> IncludesOf(const std::string& path) {
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> included;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::ConsumePrefix(&line, "#include \"")) continue;
    included.emplace_back(line.substr(0, line.find('"')));
  }
  return included;
}

class OwnPathsTest : public testing::Test {
 protected:
  OwnPathsTest() : text_(*ReadFile(".mlafuzz-paths")) {
    auto map = PathMap::Parse(text_);
    EXPECT_TRUE(map.ok()) << map.status();
    if (map.ok()) map_ = *std::move(map);
  }
  std::set<std::string> KernelsOf(const std::string& path) const {
    const PathMap::Answer answer = map_.KernelsOf(path);
    return {answer.kernels.begin(), answer.kernels.end()};
  }

  std::string text_;
  PathMap map_;
};

TEST_F(OwnPathsTest, EveryKernelSourceIsOfAKernel) {
  const std::vector<std::string> files = FilesBelow("kernels");
  EXPECT_GT(files.size(), 100u);
  for (const std::string& file : files) {
    EXPECT_TRUE(map_.KernelsOf(file).known) << file;
    EXPECT_FALSE(KernelsOf(file).empty()) << file;
  }
}

TEST_F(OwnPathsTest, WhatAKernelsFileIncludesIsOfThatKernel) {
  std::size_t pairs = 0;
  for (const std::string& file : FilesBelow("kernels")) {
    // What calls one kernel of several, a table of targets say, is of more of
    // them than what it takes; a kernel's own file tells.
    const std::set<std::string> of = KernelsOf(file);
    for (const std::string& included : IncludesOf(file)) {
      if (!absl::StartsWith(included, "kernels/") || !fs::exists(included) ||
          of.size() > 1) {
        continue;
      }
      const std::set<std::string> its = KernelsOf(included);
      EXPECT_TRUE(std::includes(its.begin(), its.end(), of.begin(), of.end()))
          << file << " is of " << absl::StrJoin(of, ",") << " and includes "
          << included << ", which is of " << absl::StrJoin(its, ",");
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 50u);
}

// A file that was renamed leaves its rule behind.
TEST_F(OwnPathsTest, EveryRuleIsOfSomeFile) {
  std::vector<std::string> files;
  for (const char* folder : {"docs", "examples", "kernels"}) {
    for (std::string& file : FilesBelow(folder)) {
      files.push_back(std::move(file));
    }
  }
  for (const char* file : {"LICENSE", "README.md"}) {
    EXPECT_TRUE(fs::exists(file)) << file;
    files.emplace_back(file);
  }
  // Of files that this test is not given.
  const std::set<std::string> elsewhere = {
      "baselines/**",      "kernels/**/*_bench.cc", "kernels/**/*_test.cc",
      "kernels/device/**", "kernels/foreign/**",    "kernels/python/**"};
  int rules = 0;
  for (absl::string_view line : absl::StrSplit(text_, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    ++rules;
    if (elsewhere.count(words[0]) != 0) continue;
    EXPECT_TRUE(std::any_of(
        files.begin(), files.end(),
        [&](const std::string& file) { return GlobMatches(words[0], file); }))
        << words[0];
  }
  EXPECT_GT(rules, 30);
}

TEST_F(OwnPathsTest, WhatIsNoKernelsMayBeOfAny) {
  for (const char* file :
       {"oracle/judge.cc", "properties/relations.cc", "fuzz/worker/engine.cc",
        "corpus/case.proto", "BUILD.bazel", ".bazelrc", "kernels/new/x.cuh"}) {
    EXPECT_FALSE(map_.KernelsOf(file).known) << file;
  }
  EXPECT_EQ(KernelsOf("kernels/gather.cuh"), (std::set<std::string>{"gather"}));
  EXPECT_TRUE(map_.KernelsOf("docs/causes/gather.md").known);
  EXPECT_TRUE(KernelsOf("docs/causes/gather.md").empty());
}

}  // namespace
}  // namespace mlafuzz
