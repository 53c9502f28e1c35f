#include "fuzz/nightly/night_sarif.h"

#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

Json Cause(const std::string& id, const std::string& key,
           const std::string& news, const std::string& file) {
  return {{"id", id},          {"news", news},
          {"first_night", 3},  {"targets", "--target=lib:k.so"},
          {"key", key},        {"kernel", "gather"},
          {"verdict", "fail"}, {"cause", "because"},
          {"case", "0123"},    {"minimal_file", file}};
}

TEST(NightSarif, HasAResultForWhatFails) {
  Json night;
  night["night"] = 5;
  night["causes"] = {
      Cause("a", "gather/x", "new", "findings/a/case.txtpb"),
      Cause("b", "gather/y", "back", ""),
      Cause("c", "gather/x", "still failing", ""),
      Cause("d", "gather/z", "gone", ""),
  };
  const Json sarif = NightSarif(night);
  const Json& run = sarif["runs"][0];
  ASSERT_EQ(run["tool"]["driver"]["rules"].size(), 2u);
  ASSERT_EQ(run["results"].size(), 3u);
  const char* levels[] = {"error", "error", "warning"};
  const char* states[] = {"new", "new", "unchanged"};
  const int rules[] = {0, 1, 0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run["results"][i]["level"], levels[i]);
    EXPECT_EQ(run["results"][i]["baselineState"], states[i]);
    EXPECT_EQ(run["results"][i]["ruleIndex"], rules[i]);
  }
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]
               ["artifactLocation"]["uri"],
            "findings/a/case.txtpb");
  EXPECT_FALSE(run["results"][1].contains("locations"));
  EXPECT_EQ(run["results"][2]["partialFingerprints"]["mlafuzzCause/v1"], "c");
  EXPECT_NE(run["results"][0]["message"]["text"].get<std::string>().find(
                "replay: mlafuzz replay --target=lib:k.so "
                "findings/a/case.txtpb"),
            std::string::npos);
}

TEST(NightSarif, OfNothingIsWhole) {
  Json night;
  night["night"] = 1;
  night["causes"] = Json::array();
  EXPECT_TRUE(NightSarif(night)["runs"][0]["results"].empty());
}

}  // namespace
}  // namespace mlafuzz
