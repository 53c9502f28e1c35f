#include "properties/repair.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

constexpr GeneratorOptions kSmall = {.decode = true};
constexpr GeneratorOptions kLarge = {.decode = true, .small = false};

std::string Repaired(const Case& c, const GeneratorOptions& options) {
  Case repaired = c;
  RepairCase(repaired, options);
  return repaired.SerializeAsString();
}

bool Specified(const Case& c) {
  const absl::StatusOr<CaseImage> image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status();
  if (!image.ok()) return false;
  for (int i = 0; i < c.steps_size(); ++i) {
    if (c.steps(i).has_patch()) continue;
    if (Classify(BuiltinContract(), *image, i).validity ==
        Validity::kUnspecified) {
      return false;
    }
  }
  return true;
}

void ExpectStoredUnchanged(const std::string& folder,
                           const GeneratorOptions& options) {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".md") continue;
    SCOPED_TRACE(entry.path().string());
    const absl::StatusOr<Case> c = ReadCase(entry.path().string());
    ASSERT_TRUE(c.ok()) << c.status();
    ASSERT_TRUE(Specified(*c));
    Case repaired = *c;
    RepairCase(repaired, options);
    EXPECT_EQ(repaired.SerializeAsString(), c->SerializeAsString())
        << FormatCaseText(repaired);
    ++cases;
  }
  EXPECT_GT(cases, 2);
}

// What somebody stored is not bent into something tamer, bit for bit.
TEST(Repair, LeavesStoredCasesAlone) {
  ExpectStoredUnchanged("corpus/small", kSmall);
  ExpectStoredUnchanged("corpus/regressions", kSmall);
  ExpectStoredUnchanged("corpus/large", kLarge);
}

struct Form {
  const char* name;
  const char* gather;  // of a pool of 3 pages of 2 rows
};

constexpr Form kForms[] = {
    {"starts descend",
     "block_table { rows: 3 columns: 2 pages { values: [9, 9, 9, 9, 1, 2] } } "
     "workspace_starts: [4, 2, 1] dst_rows: 5"},
    {"starts descend, with lengths",
     "block_table { rows: 2 columns: 1 pages { values: [2, 0] } } "
     "workspace_starts: [3, 0] seq_lens: [2, 2] dst_rows: 5"},
    {"equal starts",
     "block_table { rows: 2 columns: 2 pages { values: [7, -1, 1, 0] } } "
     "workspace_starts: [1, 1] dst_rows: 5"},
    {"the last starts past the end",
     "block_table { rows: 3 columns: 2 pages { values: [1, 0, -1, 9, 8, 7] } } "
     "workspace_starts: [0, 5, 2147483647] dst_rows: 4"},
    {"the first starts past the end",
     "block_table { rows: 2 columns: 2 pages { values: [-1, 9, 1, 2] } } "
     "workspace_starts: [2147483647, 0] dst_rows: 4"},
    {"a start past the end, with lengths",
     "block_table { rows: 2 columns: 1 pages { values: [1, -9] } } "
     "workspace_starts: [0, 77] seq_lens: [2, 0] dst_rows: 2"},
    {"a negative start of no rows",
     "block_table { rows: 2 columns: 1 pages { values: [1, -9] } } "
     "workspace_starts: [0, -2147483648] seq_lens: [2, 0] dst_rows: 2"},
    {"negative lengths",
     "block_table { rows: 3 columns: 1 pages { values: [-7, 1, -9] } } "
     "workspace_starts: [0, 0, 1] seq_lens: [-1, 2, -2147483648] dst_rows: 2"},
    {"empty in front, between and behind",
     "block_table { rows: 5 columns: 1 pages { values: [-1, 2, -1, 1, -1] } } "
     "workspace_starts: [0, 0, 2, 2, 4] dst_rows: 4"},
    {"rows of two requests, from one slot",
     "block_table { rows: 2 columns: 2 pages { values: [2, 1, 1, 7] } } "
     "workspace_starts: [0, 2] seq_lens: [4, 2] dst_rows: 4"},
    {"the same, a row inside a page",
     "block_table { rows: 2 columns: 2 expanded: true pages { values: [2, 1] } "
     "} workspace_starts: [0, 1] seq_lens: [4, 2] seq_starts: [0, 1] "
     "dst_rows: 4"},
    {"starts go back to rows that are filled already",
     "block_table { rows: 3 columns: 2 expanded: true pages { values: [2, 1] } "
     "} workspace_starts: [0, 3, 0] dst_rows: 4"},
    {"rows of nobody",
     "block_table { rows: 2 columns: 1 pages { values: [2, 1] } } "
     "workspace_starts: [1, 4] seq_lens: [2, 1] dst_rows: 9"},
};

TEST(Repair, LeavesEveryValidGatherAlone) {
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    const absl::StatusOr<Case> c = ParseCaseText(
        absl::StrCat("pool { page_size: 2 pages: 3 } steps { gather { ",
                     form.gather, " } }"));
    ASSERT_TRUE(c.ok()) << c.status();
    ASSERT_TRUE(Specified(*c));
    for (const bool invalid : {true, false}) {
      EXPECT_EQ(Repaired(*c, {.invalid = invalid}), c->SerializeAsString());
    }
  }
}

// Of a gather that is unspecified, only the fault goes.
TEST(Repair, ChangesNoMoreOfAGatherThanItMust) {
  struct Fault {
    const char* name;
    const char* gather;
    const char* want;
  };
  for (const Fault& fault : std::initializer_list<Fault>{
           {"two sources of one row",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 2, 0] } } "
            "workspace_starts: [0, 0] seq_lens: [4, 4] dst_rows: 4",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 2, 0] } } "
            "workspace_starts: [0, 0] seq_lens: [4, 2] dst_rows: 4"},
           {"two sources, without lengths",
            "block_table { rows: 3 columns: 2 pages { values: [2, 1, 1, 1, 0, "
            "1] } } workspace_starts: [0, 3, 0] dst_rows: 4",
            "block_table { rows: 3 columns: 2 pages { values: [2, 1, 1, 1, 0, "
            "1] } } workspace_starts: [0, 3, 3] dst_rows: 4"},
           {"rows past dst",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 2, 0] } } "
            "workspace_starts: [2, 0] seq_lens: [4, 2] dst_rows: 4",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 2, 0] } } "
            "workspace_starts: [2, 0] seq_lens: [2, 2] dst_rows: 4"},
           {"a page that is none",
            "block_table { rows: 2 columns: 1 pages { values: [2, 4] } } "
            "workspace_starts: [2, 0] seq_lens: [2, 1] dst_rows: 4",
            "block_table { rows: 2 columns: 1 pages { values: [2, 1] } } "
            "workspace_starts: [2, 0] seq_lens: [2, 1] dst_rows: 4"},
           {"a negative start",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 0, 0] } } "
            "workspace_starts: [-3, 2] dst_rows: 4",
            "block_table { rows: 2 columns: 2 pages { values: [2, 1, 0, 0] } } "
            "workspace_starts: [0, 2] dst_rows: 4"}}) {
    SCOPED_TRACE(fault.name);
    const std::string pool = "pool { page_size: 2 pages: 3 } ";
    const absl::StatusOr<Case> c = ParseCaseText(
        absl::StrCat(pool, "steps { gather { ", fault.gather, " } }"));
    ASSERT_TRUE(c.ok()) << c.status();
    EXPECT_FALSE(Specified(*c));
    const absl::StatusOr<Case> want = ParseCaseText(
        absl::StrCat(pool, "steps { gather { ", fault.want, " } }"));
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_TRUE(Specified(*want));
    EXPECT_EQ(Repaired(*c, kSmall), want->SerializeAsString());
  }
}

}  // namespace
}  // namespace mlafuzz
