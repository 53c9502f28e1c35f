// docs/coverage.md names parties, fields, layouts, targets, properties and
// tests. Each must be there. Tests: this program's arguments, labels that Bazel
// knows.

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/parties.h"
#include "corpus/types.pb.h"
#include "fuzz/campaign/report/cause_pages.h"
#include "gtest/gtest.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

std::set<std::string> tests_of_bazel;

std::set<std::string> InBackticks(const std::string& text) {
  std::set<std::string> words;
  const std::regex pattern("`([^`]+)`");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end;
       it != end; ++it) {
    words.insert((*it)[1]);
  }
  return words;
}

// The rows of the page's table, a cell a string; the first cell is empty.
std::vector<std::vector<std::string>> Rows(const std::string& page) {
  std::vector<std::vector<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, "| ") || absl::StartsWith(line, "| ---") ||
        absl::StartsWith(line, "| system ")) {
      continue;
    }
    rows.push_back(absl::StrSplit(line, '|'));
  }
  return rows;
}

bool IsContract(const std::string& name) {
  Layout layout;
  return FindParty(name) != nullptr || Layout_Parse(name, &layout) ||
         (absl::StrContains(name, '.') && PageOf(name) != nullptr);
}

bool IsTarget(const std::string& name) {
  return std::any_of(AllTargets().begin(), AllTargets().end(),
                     [&](const TargetInfo& info) { return info.name == name; });
}

TEST(CoveragePage, NamesWhatIsThere) {
  const auto page = ReadFile("docs/coverage.md");
  ASSERT_TRUE(page.ok()) << page.status();
  const auto rows = Rows(*page);
  ASSERT_GE(rows.size(), 13u);
  std::set<std::string> tests;
  for (const std::vector<std::string>& cells : rows) {
    ASSERT_EQ(cells.size(), 7u) << cells[1];
    for (const int column : {2, 3, 4, 5}) {
      EXPECT_FALSE(InBackticks(cells[column]).empty())
          << cells[1] << ": column " << column << " names nothing";
    }
    for (const std::string& name : InBackticks(cells[2])) {
      EXPECT_TRUE(IsContract(name)) << cells[1] << ": " << name;
    }
    for (const std::string& name : InBackticks(cells[3])) {
      EXPECT_TRUE(IsTarget(name)) << cells[1] << ": " << name;
    }
    for (const std::string& name : InBackticks(cells[4])) {
      EXPECT_NE(PageOf(name), nullptr) << cells[1] << ": " << name;
    }
    tests.merge(InBackticks(cells[5]));
  }
  EXPECT_EQ(tests, tests_of_bazel);
}

// A writer, gather or reader that the matrix knows and no row names.
TEST(CoveragePage, NamesEveryParty) {
  const auto page = ReadFile("docs/coverage.md");
  ASSERT_TRUE(page.ok()) << page.status();
  const std::set<std::string> words = InBackticks(*page);
  for (const Party& party : AllParties()) {
    EXPECT_EQ(words.count(party.name), 1u) << party.name;
  }
}

}  // namespace
}  // namespace mlafuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  mlafuzz::tests_of_bazel.insert(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
