#include "corpus/without_effect.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Case Parse(const std::string& text) {
  const auto c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status() << text;
  return c.ok() ? *c : Case();
}

std::string Pool(const std::string& more = "") {
  return absl::StrCat("pool { page_size: 2 pages: 2 ", more, " } ");
}
std::string Write(const std::string& more) {
  return absl::StrCat(Pool(), "steps { write { slots { values: [0, 3] } ", more,
                      " } }");
}
std::string Convert(const std::string& more) {
  return absl::StrCat(Pool(),
                      "steps { convert { token_indices { rows: 2 width: 3 ",
                      more, " } } }");
}
std::string Decode(const std::string& more) {
  return absl::StrCat(
      "pool { layout: DSV4_FOOTER_584 page_size: 2 pages: 2 } steps { decode { "
      "queries: 1 heads: 1 indices { rows: 1 width: 1 valid: 1 limit: 4 } ",
      more, " } }");
}

// Whether both cases lay out the same bytes.
void ExpectSameImage(const Case& a, const Case& b) {
  const auto x = BuildImage(a);
  const auto y = BuildImage(b);
  ASSERT_TRUE(x.ok()) << x.status();
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(x->pool.bytes, y->pool.bytes);
  ASSERT_EQ(x->steps.size(), y->steps.size());
  for (std::size_t i = 0; i < x->steps.size(); ++i) {
    ASSERT_EQ(x->steps[i].tensors.size(), y->steps[i].tensors.size());
    for (std::size_t t = 0; t < x->steps[i].tensors.size(); ++t) {
      EXPECT_EQ(x->steps[i].tensors[t].bytes, y->steps[i].tensors[t].bytes);
      EXPECT_EQ(x->steps[i].tensors[t].misalignment,
                y->steps[i].tensors[t].misalignment);
    }
  }
}

// What a person may write and nothing comes of: refused by its field's name;
// gone in the canonical form, which stands for the same bytes.
TEST(WithoutEffect, IsRefusedByNameAndNotCanonical) {
  const struct {
    std::string text;
    std::string words;
  } kCases[] = {
      {Write("kv_c { set { at: 1024 bits: 1 } }"),
       "steps[0].write.kv_c.set[0].at: 1024 is past the last of the 1024"},
      {Write("surplus_rows: 1 kv_c { set { at: 1024 bits: 1 } }"),
       "set[0].at: 1024 is past"},
      {Write("surplus_rows: -1 kv_c { set { at: 512 bits: 1 } }"),
       "set[0].at: 512 is past"},
      {Write("kv_c { set { at: 0 bits: 0x10000 } }"),
       "steps[0].write.kv_c.set[0].bits: 0x10000 has more than 16 bits"},
      {Write("kv_c { pattern: CONSTANT bits: 0x3f800000 }"),
       "kv_c.bits: 0x3f800000 has more than 16 bits"},
      {Write("kv_c { pattern: OCTAVES bits: 1 }"), "kv_c.bits: is of"},
      {Write("kv_c { set { at: 0 bits: 1 low: 2 } }"),
       "kv_c.set[0].low: is of fp32 tensors alone"},
      {Write("input: F32 kv_c { set { at: 0 bits: 1 low: 0x10000 } }"),
       "kv_c.set[0].low: 0x10000 has more than 16 bits"},
      {Write("input: F16 kv_c { pattern: OCTAVES low_seed: 1 }"),
       "kv_c.low_seed: is of fp32 tensors alone"},
      {Write("k_pe { pattern: OCTAVES }"),
       "steps[0].write.k_pe: the rows have no rope"},
      {Write("k_pe_offset: 2"), "write.k_pe_offset: the rows have no rope"},
      {Write("pe_dim: 64 k_pe { set { at: 128 bits: 1 } }"),
       "k_pe.set[0].at: 128 is past"},
      {Write("kv_c_offset: 128"), "write.kv_c_offset: 128 is past"},
      {Write("input: F32 kv_c_offset: 64"), "write.kv_c_offset: 64 is past"},
      {absl::StrCat(Pool("fill { kind: ROWS byte: 1 }"), "steps { write { } }"),
       "pool.fill.byte: is of kind BYTE alone"},
      {absl::StrCat(Pool("fill { scales: WIDE }"), "steps { write { } }"),
       "pool.fill.scales: is of kind ROWS"},
      {absl::StrCat(Pool(),
                    "steps { gather { block_table { rows: 1 columns: 1 pages { "
                    "values: [0, 1] } } } }"),
       "steps[0].gather.block_table.pages.values: 2 are more than the 1 "
       "entries"},
      {absl::StrCat(Pool(),
                    "steps { gather { block_table { rows: 2 columns: 2 "
                    "expanded: true row_stride: 7 pages { values: [0, 1] } } "
                    "} }"),
       "block_table.row_stride: an expanded table has one row"},
      {absl::StrCat(Pool(),
                    "steps { gather { block_table { rows: 1 columns: 2 pages { "
                    "values: 1 count: 1 } } } }"),
       "block_table.pages.count: 1 is no more than the 1 value;"},
      {absl::StrCat(Pool(),
                    "steps { write { slots { values: [0, 1] count: 1 } } }"),
       "steps[0].write.slots.count: 1 is no more than the 2 values;"},
      {absl::StrCat(Pool(),
                    "steps { write { slots { values: 1 order: PERMUTED } } }"),
       "write.slots.order: is of what `count` generates"},
      {absl::StrCat(Pool(), "steps { write { slots { count: 2 seed: 3 } } }"),
       "write.slots.seed: is of the order PERMUTED alone"},
      {Write("kv_c { set { at: 5 bits: 1 } set { at: 3 bits: 2 } set { at: 5 "
             "bits: 4 } }"),
       "kv_c.set[0]: set[2] sets element 5 again"},
      {Convert("set { at: 1 value: 1 } set { at: 1 value: 2 }"),
       "token_indices.set[0]: set[1] sets element 1 again"},
      {Convert("valid: 4"), "token_indices.valid: 4 is more than the width 3"},
      {Convert("set { at: 6 value: 1 }"),
       "token_indices.set[0].at: 6 is past the last of the 6"},
      {Convert("} request_ids { values: [0, 0, 0] "),
       "convert.request_ids.values: 3 are more than the 2 rows"},
      {Decode("q { set { at: 512 bits: 1 } }"),
       "steps[0].decode.q.set[0].at: 512 is past"},
      {Decode("extra { pool { page_size: 1 pages: 1 offset: 256 } indices { "
              "rows: 1 } }"),
       "steps[0].decode.extra.pool.offset: 256 is past 256 bytes"},
      {absl::StrCat(Pool("patches { slot: 1 at: 3 }"), "steps { write { } }"),
       "pool.patches[0].data: holds no byte"},
      {absl::StrCat(Pool("patches { data: 'ab' at: 4 } patches { at: 4 data: "
                         "'x' } patches { at: 2 data: 'abcd' }"),
                    "steps { write { } }"),
       "pool.patches[0]: patches[2] lies over all its bytes"},
      {Decode("extra { pool { page_size: 1 pages: 1 patches { } } indices { "
              "rows: 1 } }"),
       "steps[0].decode.extra.pool.patches[0].data: holds no byte"},
      {Decode("extra { pool { page_size: 1 pages: 1 } indices { rows: 1 width: "
              "1 set { at: 1 } } }"),
       "decode.extra.indices.set[0].at: 1 is past"},
  };
  for (const auto& given : kCases) {
    const Case c = Parse(given.text);
    const absl::Status s = RefuseWhatHasNoEffect(c);
    EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument) << given.text;
    EXPECT_TRUE(absl::StrContains(s.message(), given.words)) << s;
    Case canonical = c;
    Canonicalise(canonical);
    EXPECT_TRUE(RefuseWhatHasNoEffect(canonical).ok())
        << RefuseWhatHasNoEffect(canonical) << canonical.DebugString();
    ExpectSameImage(c, canonical);
  }
}

// A step is counted by what comes after it, so the canonical form has it still.
TEST(WithoutEffect, APatchBetweenCallsHasBytes) {
  const Case c = Parse(absl::StrCat(Pool(), "steps { patch { slot: 1 } }"));
  const absl::Status s = RefuseWhatHasNoEffect(c);
  EXPECT_TRUE(absl::StartsWith(s.message(), "steps[0].patch.data: holds no"))
      << s;
}

// Bytes of a patch that show between or beside those of later ones.
TEST(WithoutEffect, APatchOfWhichAByteIsLeftStays) {
  for (const char* patches :
       {"patches { data: 'abc' } patches { at: 1 data: 'x' }",
        "patches { at: 1 data: 'abc' } patches { data: 'xyz' }",
        "patches { slot: 1 data: 'a' } patches { slot: 2 data: 'b' }"}) {
    const Case c = Parse(absl::StrCat(Pool(patches), "steps { write { } }"));
    EXPECT_TRUE(RefuseWhatHasNoEffect(c).ok()) << RefuseWhatHasNoEffect(c);
    Case canonical = c;
    Canonicalise(canonical);
    EXPECT_EQ(canonical.pool().patches_size(), 2) << patches;
    ExpectSameImage(c, canonical);
  }
}

// The last element of each is taken, so nothing is refused that has an effect.
TEST(WithoutEffect, WhatIsAtTheEndHasOne) {
  for (const auto& [text, without] :
       {std::pair(Write("kv_c { set { at: 1023 bits: 1 } }"), Write("")),
        std::pair(Write("surplus_rows: -1 kv_c { set { at: 511 bits: 1 } }"),
                  Write("surplus_rows: -1")),
        std::pair(Write("pe_dim: 64 k_pe { set { at: 127 bits: 0xffff } }"),
                  Write("pe_dim: 64")),
        std::pair(Write("input: F32 kv_c { set { at: 1023 low: 1 } }"),
                  Write("input: F32")),
        std::pair(Convert("set { at: 5 value: 7 }"), Convert("")),
        std::pair(Decode("q { set { at: 511 bits: 1 } }"), Decode(""))}) {
    const Case c = Parse(text);
    EXPECT_TRUE(RefuseWhatHasNoEffect(c).ok()) << RefuseWhatHasNoEffect(c);
    const auto x = BuildImage(c);
    const Case other = Parse(without);
    const auto y = BuildImage(other);
    ASSERT_TRUE(x.ok() && y.ok());
    bool differ = false;
    for (std::size_t t = 0; t < x->steps[0].tensors.size(); ++t) {
      differ |= x->steps[0].tensors[t].bytes != y->steps[0].tensors[t].bytes;
    }
    EXPECT_TRUE(differ) << text;
    EXPECT_NE(CaseId(c), CaseId(other)) << text;
  }
}

TEST(WithoutEffect, StoredCasesSayNothingInVain) {
  int cases = 0;
  for (const char* folder :
       {"small", "layouts", "large", "regressions", "witnesses"}) {
    const std::string path = absl::StrCat("corpus/", folder);
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const auto c = ReadCase(entry.path().string());
      ASSERT_TRUE(c.ok()) << c.status();
      EXPECT_TRUE(RefuseWhatHasNoEffect(*c).ok())
          << entry.path() << ": " << RefuseWhatHasNoEffect(*c);
      ++cases;
    }
  }
  EXPECT_GT(cases, 100);
}

}  // namespace
}  // namespace mlafuzz
