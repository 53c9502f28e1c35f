#include "fuzz/changes/path_map.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Glob, StarsEndAtFoldersUnlessTheyAreTwo) {
  struct Row {
    const char* glob;
    const char* path;
    bool matches;
  };
  for (const Row& row : std::vector<Row>{
           {"a.cu", "a.cu", true},
           {"a.cu", "b/a.cu", false},
           {"*.cu", "a.cu", true},
           {"*.cu", "b/a.cu", false},
           {"**.cu", "b/a.cu", true},
           {"**/a.cu", "a.cu", true},
           {"**/a.cu", "b/c/a.cu", true},
           {"**/a.cu", "b/ca.cu", false},
           {"docs/**", "docs/a/b.md", true},
           {"docs/**", "docs2/a", false},
           {"csrc/*/writer*.cu", "csrc/mla/writer_v2.cu", true},
           {"csrc/*/writer*.cu", "csrc/mla/x/writer_v2.cu", false},
           {"a?c", "abc", true},
           {"a?c", "a/c", false},
           {"*", "", true},
           {"", "a", false},
       }) {
    EXPECT_EQ(GlobMatches(row.glob, row.path), row.matches)
        << row.glob << " " << row.path;
  }
}

TEST(PathMap, TheLastRuleThatMatchesCounts) {
  const auto map = PathMap::Parse(
      "# comment\n"
      "csrc/** writer,gather\n"
      "\n"
      "csrc/*.md\tnone\n"
      "  csrc/decode/**   decode\n");
  ASSERT_TRUE(map.ok()) << map.status();
  using Names = std::vector<std::string>;
  EXPECT_EQ(map->KernelsOf("csrc/a.cu").kernels, (Names{"writer", "gather"}));
  EXPECT_EQ(map->KernelsOf("csrc/decode/a.cu").kernels, Names{"decode"});
  EXPECT_TRUE(map->KernelsOf("csrc/a.md").known);
  EXPECT_TRUE(map->KernelsOf("csrc/a.md").kernels.empty());
  EXPECT_FALSE(map->KernelsOf("Makefile").known);
}

TEST(PathMap, WhatIsNoRuleIsRefusedWithItsLine) {
  for (const char* text :
       {"\na.cu\n", "\na.cu writer gather\n", "\na.cu writter\n",
        "\na.cu writer,\n", "\n*********a writer\n"}) {
    const auto map = PathMap::Parse(text);
    ASSERT_FALSE(map.ok()) << text;
    EXPECT_TRUE(absl::StartsWith(map.status().message(), "line 2: "))
        << map.status();
  }
}

TEST(PathMap, WhatCannotBeToldIsOfAllKernels) {
  const auto map = PathMap::Parse("docs/** none\nw.cu writer\nd.cu decode\n");
  ASSERT_TRUE(map.ok());
  const std::vector<std::string> all = {"writer", "gather"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(KernelsConcerned(*map, {}, all).kernels, Names{});
  EXPECT_EQ(KernelsConcerned(*map, {"docs/a"}, all).kernels, Names{});
  EXPECT_EQ(KernelsConcerned(*map, {"docs/a", "w.cu"}, all).kernels,
            Names{"writer"});
  // A kernel that is not under test.
  EXPECT_EQ(KernelsConcerned(*map, {"d.cu"}, all).kernels, Names{});
  const Concerned any = KernelsConcerned(*map, {"w.cu", "common.h"}, all);
  EXPECT_EQ(any.kernels, all);
  EXPECT_EQ(any.lines, (Names{"w.cu: writer",
                              "common.h: cannot be told, so writer,gather"}));
  // Who sends a change names its files.
  EXPECT_EQ(
      KernelsConcerned(*map, {"docs/q\n::error file=x::\x1b\xff"}, all).lines,
      Names{"docs/q\\x0a::error file=x::\\x1b\\xff: none"});
}

}  // namespace
}  // namespace mlafuzz
