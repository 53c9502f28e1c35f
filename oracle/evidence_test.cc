#include "oracle/evidence.h"

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

TEST(EvidenceText, SaysHowMuchAndWhatIsNext) {
  EvidenceTable table;
  EXPECT_EQ(EvidenceText(table), "");
  table.wrong = 512;
  table.right = 64;
  EXPECT_EQ(EvidenceText(table),
            "no other rule predicts any of the 512 wrong elements");
  table.rows = {{"v.scale_rule=SCALE_ONE", 512, 0}};
  EXPECT_EQ(EvidenceText(table),
            "v.scale_rule=SCALE_ONE explains 512 of 512 wrong elements and "
            "fits all 64 others; nothing else explains any");
  table.rows.push_back({"qk.scale_rule=SCALE_ONE", 512, 3});
  EXPECT_EQ(EvidenceText(table),
            "v.scale_rule=SCALE_ONE explains 512 of 512 wrong elements and "
            "fits all 64 others; next best qk.scale_rule=SCALE_ONE, 100 % with "
            "3 others wrong");
  table.rows[1] = {"tile-skipped", 512, 0};
  table.rows.push_back({"rope-dropped", 16, 2});
  EXPECT_EQ(EvidenceText(table),
            "v.scale_rule=SCALE_ONE explains 512 of 512 wrong elements and "
            "fits all 64 others; as well tile-skipped; next best rope-dropped, "
            "3.12 %");
  table.rows = {{"decode.sink=SINK_DROPPED", 500, 7}};
  EXPECT_EQ(EvidenceText(table),
            "decode.sink=SINK_DROPPED explains 500 of 512 wrong elements, but "
            "makes 7 of 64 others wrong; nothing else explains any");
}

}  // namespace
}  // namespace mlafuzz::oracle
