#include "oracle/layouts/page_layout.h"

#include <string>
#include <vector>

#include "corpus/token_layout.h"
#include "gtest/gtest.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

class EachLayout : public testing::TestWithParam<const PageLayout*> {};

// What every byte of a page is: each thing that the addresses name is written
// once, and what none names is padding.
TEST_P(EachLayout, EveryByteIsOneThing) {
  const PageLayout& layout = *GetParam();
  // As many as oracle/quantise.h takes at once.
  ASSERT_LE(layout.tile, 128);
  ASSERT_EQ(layout.codes % layout.tile, 0);
  for (const std::int64_t size : {1, 2, 7, 16, 64, 256}) {
    std::vector<char> page(static_cast<std::size_t>(layout.PageBytes(size)),
                           '.');
    const auto take = [&](std::int64_t at, int bytes, char what) {
      for (int i = 0; i < bytes; ++i) {
        ASSERT_GE(at + i, 0);
        ASSERT_LT(at + i, static_cast<std::int64_t>(page.size()));
        char& byte = page[static_cast<std::size_t>(at + i)];
        EXPECT_EQ(byte, '.') << layout.name << " page of " << size << ", byte "
                             << at + i << " is " << what << " too";
        byte = what;
      }
    };
    for (std::int64_t row = 0; row < size; ++row) {
      take(layout.RowAt(row), layout.codes, 'c');
      for (int tile = 0; tile < layout.tiles(); ++tile) {
        take(layout.ScaleAt(size, row, tile), layout.scale_bytes(), 's');
      }
      for (int i = 0; i < layout.rope; ++i) {
        take(layout.RopeAt(row, i), 2, 'r');
      }
    }
    std::int64_t padding = 0;
    for (const char byte : page) padding += byte == '.';
    const std::int64_t used =
        size * (layout.codes + layout.tiles() * layout.scale_bytes() +
                2 * layout.rope);
    EXPECT_EQ(padding, layout.PageBytes(size) - used);
    EXPECT_EQ(layout.PageBytes(size) % layout.page_multiple, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachLayout,
                         testing::ValuesIn(PageLayouts().begin(),
                                           PageLayouts().end()),
                         [](const auto& info) {
                           return std::string(info.param->name);
                         });

TEST(PageLayout, BytesATokenAreThoseOfTheFormats) {
  EXPECT_EQ(kRow656.PageBytes(64), 64 * 656);
  EXPECT_EQ(kRow528.PageBytes(64), 64 * 528);
  EXPECT_EQ(kFooter584.PageBytes(64), 65 * 576);  // 64 x 584, padded
  EXPECT_EQ(kFooter584.PageBytes(1), 2 * 576);
  EXPECT_EQ(kFooter528.PageBytes(64), 64 * 528);
  EXPECT_EQ(kIndexer132.PageBytes(64), 64 * 132);
  EXPECT_EQ(kIndexer264.PageBytes(16), 16 * 264);
}

TEST(PageLayout, ARowStrideMovesRowsAndWhatIsInThem) {
  EXPECT_EQ(kRow528.ScaleAt(64, 3, 1, 656), 3 * 656 + 516);
  EXPECT_EQ(kRow656.RopeAt(2, 5, 704), 2 * 704 + 538);
}

// The 656-byte row stands in oracle/layout.h as well, for what knows no other.
TEST(PageLayout, TheInlineRowIsTheOneOfCases) {
  EXPECT_EQ(kRow656.codes, kFp8DsMla.codes);
  EXPECT_EQ(kRow656.tile, kFp8DsMla.tile);
  EXPECT_EQ(kRow656.scales_at, kFp8DsMla.scales_at);
  EXPECT_EQ(kRow656.rope_at, kFp8DsMla.rope_at);
  EXPECT_EQ(kRow656.rope, kFp8DsMla.rope);
  EXPECT_EQ(kRow656.row_bytes, kFp8DsMla.row_bytes);
}

// What cases know of a layout is what the oracle does.
TEST(PageLayout, CasesAgree) {
  ASSERT_EQ(TokenLayouts().size(), PageLayouts().size());
  for (std::size_t i = 0; i < TokenLayouts().size(); ++i) {
    const TokenLayout& token = TokenLayouts()[i];
    const PageLayout& page = *PageLayouts()[i];
    const RowLayout& row = LayoutOf(token.layout);
    SCOPED_TRACE(token.name);
    EXPECT_STREQ(token.name, page.name);
    EXPECT_EQ(token.codes, row.codes);
    EXPECT_EQ(token.tile, row.tile);
    EXPECT_EQ(token.scales_at, row.scales_at);
    EXPECT_EQ(token.scale_bytes, row.scale_bytes);
    EXPECT_EQ(token.rope, row.rope);
    if (token.rope > 0) EXPECT_EQ(token.rope_at, row.rope_at);
    EXPECT_EQ(token.row_bytes, row.row_part);
    EXPECT_EQ(token.token_bytes, row.row_bytes);
    EXPECT_EQ(token.page_multiple, page.page_multiple);
    EXPECT_EQ(token.copied, row.copied);
    EXPECT_EQ(token.dst_columns(), row.columns());
  }
}

// Each byte of a token belongs to one part.
TEST(PageLayout, PartsOfATokenAddUp) {
  for (const TokenLayout& token : TokenLayouts()) {
    const RowLayout& row = LayoutOf(token.layout);
    SCOPED_TRACE(token.name);
    int bytes[4] = {};
    for (int i = 0; i < row.row_bytes; ++i) {
      ++bytes[static_cast<int>(row.PartOf(i))];
    }
    EXPECT_EQ(bytes[static_cast<int>(RowLayout::Part::kCodes)], row.codes);
    EXPECT_EQ(bytes[static_cast<int>(RowLayout::Part::kScales)],
              row.tiles() * row.scale_bytes);
    EXPECT_EQ(bytes[static_cast<int>(RowLayout::Part::kRope)], 2 * row.rope);
    EXPECT_EQ(bytes[static_cast<int>(RowLayout::Part::kPadding)],
              token.layout == DSV4_FOOTER_584 ? 1 : 0);
  }
}

}  // namespace
}  // namespace mlafuzz::oracle
