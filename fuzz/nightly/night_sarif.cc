#include "fuzz/nightly/night_sarif.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string Word(const Json& json, const char* name) {
  return ShownText(json.at(name).get<std::string>());
}

Json Result(const Json& cause, std::size_t rule) {
  const bool known = cause.at("news") == "still failing";
  const std::string words =
      Word(cause, "cause").empty()
          ? absl::StrCat(Word(cause, "kernel"), " ", Word(cause, "verdict"))
          : Word(cause, "cause");
  Json result;
  result["ruleId"] = Word(cause, "key");
  result["ruleIndex"] = rule;
  result["kind"] = "fail";
  result["level"] = known ? "warning" : "error";
  result["baselineState"] = known ? "unchanged" : "new";
  result["message"]["text"] =
      absl::StrCat(words, "\n", Word(cause, "news"), ", since night ",
                   cause.at("first_night").get<std::uint64_t>(),
                   "\nreplay: ", "mlafuzz replay ", Word(cause, "targets"), " ",
                   Word(cause, "minimal_file").empty()
                       ? absl::StrCat("STATE/cases/", Word(cause, "case"))
                       : Word(cause, "minimal_file"));
  if (!Word(cause, "minimal_file").empty()) {
    Json location;
    location["physicalLocation"]["artifactLocation"] = {
        {"uri", Word(cause, "minimal_file")}, {"uriBaseId", "NIGHT"}};
    location["physicalLocation"]["region"]["startLine"] = 1;
    location["logicalLocations"] =
        Json::array({{{"name", Word(cause, "kernel")}, {"kind", "function"}}});
    result["locations"] = Json::array({location});
  }
  result["partialFingerprints"]["mlafuzzCause/v1"] = Word(cause, "id");
  return result;
}

}  // namespace

Json NightSarif(const Json& night) {
  Json rules = Json::array(), results = Json::array();
  for (const Json& cause : night.at("causes")) {
    if (cause.at("news") == "gone") continue;
    std::size_t rule = 0;
    while (rule < rules.size() && rules[rule]["id"] != Word(cause, "key")) {
      ++rule;
    }
    if (rule == rules.size()) {
      rules.push_back({{"id", Word(cause, "key")},
                       {"shortDescription",
                        {{"text", absl::StrCat(Word(cause, "kernel"), ": ",
                                               Word(cause, "key"))}}}});
    }
    results.push_back(Result(cause, rule));
  }
  Json run;
  run["tool"]["driver"] = {{"name", "mlafuzz nightly"}, {"rules", rules}};
  run["originalUriBaseIds"]["NIGHT"]["description"]["text"] =
      "the night's folder in its state";
  run["results"] = results;
  run["properties"] = {{"night", night.at("night")}};
  Json sarif;
  sarif["$schema"] =
      "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
      "sarif-schema-2.1.0.json";
  sarif["version"] = "2.1.0";
  sarif["runs"] = Json::array({run});
  return sarif;
}

}  // namespace mlafuzz
