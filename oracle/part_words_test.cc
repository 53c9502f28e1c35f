#include "oracle/part_words.h"

#include <string>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

PartWords Words(Layout layout,
                GatherContract::Rows rows = GatherContract::ROWS_UPCONVERTED) {
  Contract contract;
  contract.set_layout(layout);
  contract.mutable_gather()->set_rows(rows);
  return PartWordsOf(contract, LayoutOf(layout));
}

TEST(PartWords, AreThoseOfTheRow) {
  const PartWords row = Words(FP8_DS_MLA);
  EXPECT_EQ(row.only_codes, "codes are wrong while scales and rope are right");
  EXPECT_EQ(row.only_values, "latent values are wrong while the tail is right");
  EXPECT_EQ(row.only_tail, "the reserved tail is wrong");
  EXPECT_EQ(row.tail_bytes, "tail bytes");
}

TEST(PartWords, SpeakOfNoPartThatIsNotThere) {
  for (const Layout layout :
       {NOPE_ROW_528, INDEXER_132, INDEXER_264, DSV4_1_FOOTER_528}) {
    const PartWords words = Words(layout);
    for (const std::string* text : {&words.only_codes, &words.only_scales,
                                    &words.only_values, &words.gathered}) {
      EXPECT_EQ(text->find("rope"), std::string::npos) << *text;
      EXPECT_EQ(text->find("tail"), std::string::npos) << *text;
    }
  }
  for (const Layout layout : {INDEXER_132, INDEXER_264}) {
    EXPECT_EQ(Words(layout).only_values,
              "copied codes are wrong while the scales are right");
  }
  const PartWords footer = Words(DSV4_FOOTER_584);
  EXPECT_EQ(footer.only_values,
            "dequantised values are wrong while the rope is right");
  EXPECT_EQ(footer.only_tail, "bytes of rope are wrong in rows without");
}

// Whatever the layout: bytes have no latent part, nor has one scale tiles.
TEST(PartWords, OfGathersThatTakeRowsOtherwise) {
  for (const Layout layout : {FP8_DS_MLA, DSV4_FOOTER_584}) {
    EXPECT_EQ(Words(layout, GatherContract::ROWS_BYTES).only_values,
              "copied bytes are wrong");
    EXPECT_EQ(Words(layout, GatherContract::ROWS_ONE_SCALE).only_values,
              "values of one scale are wrong");
  }
}

}  // namespace
}  // namespace mlafuzz::oracle
