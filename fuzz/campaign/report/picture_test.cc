#include "fuzz/campaign/report/picture.h"

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Picture, GridJoinsNeighboursOfALine) {
  const std::string svg = GridSvg("<row>", "aabb a", 3);
  EXPECT_NE(svg.find("viewBox=\"0 0 3 2\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"ka\" d=\"M0 0h2v1h-2zM2 1h1v1h-1z\""),
            std::string::npos)
      << svg;
  // A run ends with its line.
  EXPECT_NE(svg.find("class=\"kb\" d=\"M2 0h1v1h-1zM0 1h1v1h-1z\""),
            std::string::npos)
      << svg;
  EXPECT_EQ(svg.find("<row>"), std::string::npos);
  EXPECT_EQ(GridSvg("", "", 3), "");
}

TEST(Picture, CurveSaysItsLastValue) {
  const std::string svg = CurveSvg("cases", {{0, 0}, {1, 5}, {2, 20}}, false);
  EXPECT_NE(svg.find("cases: 20 after 2.0 s"), std::string::npos) << svg;
  EXPECT_NE(svg.find("M0.0 90.0L150.0 68.0L300.0 2.0"), std::string::npos)
      << svg;
  EXPECT_NE(CurveSvg("findings", {{0, 0}, {1, 1}}, true)
                .find("M0.0 90.0L300.0 90.0L300.0 2.0"),
            std::string::npos);
  EXPECT_EQ(CurveSvg("cases", {{0, 0}}, false), "");
}

}  // namespace
}  // namespace mlafuzz
