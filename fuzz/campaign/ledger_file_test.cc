#include "fuzz/campaign/ledger_file.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

Json Result() {
  return Json::parse(R"({
    "schema_version": 1, "flavour": "plain", "seeds": 3,
    "mutants": [{"id": "mutant:x", "kernel": "writer", "source": "s",
                 "engines": [{"engine": "libfuzzer", "seeds": 3, "detected": 2,
                              "triggered": 3, "weak": "oracle",
                              "cause": "right", "runs": []}]}],
    "controls": [{"id": "builtin", "cases": 9, "false_alarms": 0}],
    "baselines": []})");
}

TEST(LedgerFile, HoldsWhatAReportShows) {
  const auto shown = ReadLedgerResult(Result().dump(), "l.json");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(*shown, Json::parse(R"({
    "file": "l.json", "flavour": "plain", "seeds": 3,
    "wrong": [{"id": "mutant:x", "kernel": "writer", "seeds": 3, "detected": 2,
               "triggered": 3, "weak": "oracle", "cause": "right"}],
    "right": [{"id": "builtin", "cases": 9, "false_alarms": 0}]})"));
}

TEST(LedgerFile, SaysWhetherItWasInterrupted) {
  Json result = Result();
  result["interrupted"] = false;
  EXPECT_FALSE(
      ReadLedgerResult(result.dump(), "l.json")->contains("interrupted"));
  result["interrupted"] = true;
  EXPECT_EQ((*ReadLedgerResult(result.dump(), "l.json"))["interrupted"], true);
}

TEST(LedgerFile, RefusesWhatIsNone) {
  const auto why = [](const std::string& text) {
    return std::string(ReadLedgerResult(text, "l.json").status().message());
  };
  const std::string whole = Result().dump();
  EXPECT_EQ(why(whole.substr(0, whole.size() / 2)).find("l.json: is no JSON"),
            0u);
  EXPECT_NE(why("{}").find("no result of a ledger"), std::string::npos);
  EXPECT_NE(why("[]").find("no result of a ledger"), std::string::npos);
  Json result = Result();
  result["schema_version"] = 2;
  EXPECT_NE(why(result.dump()).find("no result of a ledger"),
            std::string::npos);
  result = Result();
  result["mutants"][0]["engines"] = Json::array();
  EXPECT_NE(why(result.dump()).find("mutants[0] was run by no engine"),
            std::string::npos);
  result = Result();
  result["mutants"][0]["engines"][0]["detected"] = "two";
  EXPECT_NE(why(result.dump()).find("mutants[0].engines[0] has no detected"),
            std::string::npos);
  // Counts that no run gives.
  for (const auto& [field, value] :
       {std::pair("detected", 4), std::pair("triggered", 4),
        std::pair("seeds", 4)}) {
    result = Result();
    result["mutants"][0]["engines"][0][field] = value;
    EXPECT_NE(why(result.dump()).find("mutants[0].engines[0] has "),
              std::string::npos)
        << field;
  }
  result = Result();
  result["controls"][0]["false_alarms"] = 10;
  EXPECT_NE(why(result.dump()).find("controls[0] has more false alarms"),
            std::string::npos);
  result = Result();
  result["mutants"] = result["controls"] = Json::array();
  EXPECT_NE(why(result.dump()).find("that ledger ran nothing"),
            std::string::npos);
  result = Result();
  result["controls"][0].erase("cases");
  EXPECT_NE(why(result.dump()).find("controls[0]"), std::string::npos);
}

}  // namespace
}  // namespace mlafuzz
