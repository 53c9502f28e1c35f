#include "fuzz/campaign/report/sarif.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/report/cause_pages.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string Word(const Json& json, const char* name) {
  return ShownText(json.at(name).get<std::string>());
}

// As a path of a URI (RFC 3986): all but unreserved characters and slashes in
// per cent.
std::string UriPath(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
        c == '~' || c == '/') {
      uri += c;
    } else {
      absl::StrAppend(
          &uri, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return uri;
}

Json Rule(const Json& finding) {
  Json rule;
  rule["id"] = Word(finding, "cause_key");
  rule["shortDescription"]["text"] =
      absl::StrCat(Word(finding, "kernel"), ": ", Word(finding, "cause_key"));
  rule["fullDescription"]["text"] = Word(finding, "cause");
  const CausePage* page = PageOfCause(std::string(finding.at("cause_key")));
  if (page != nullptr) {
    rule["help"]["text"] = page->text;
    rule["help"]["markdown"] = page->text;
  }
  rule["defaultConfiguration"]["level"] = "error";
  return rule;
}

Json Result(const Json& finding, std::size_t rule) {
  Json result;
  result["ruleId"] = Word(finding, "cause_key");
  result["ruleIndex"] = rule;
  result["kind"] = "fail";
  // One that does not come back each time is no less a fault, but less sure.
  result["level"] = finding.at("verdict") == "flaky" ? "warning" : "error";
  if (finding.contains("known")) {
    result["level"] = "note";
    result["baselineState"] = "unchanged";
  }
  result["message"]["text"] =
      absl::StrCat(Word(finding, "cause"), "\n", Word(finding, "detail"),
                   "\nreplay: ", Word(finding, "replay"));
  const std::string minimal = finding.at("minimal_case");
  const std::string file =
      minimal.empty() ? std::string(finding.at("case")) : minimal;
  if (!file.empty()) {
    Json location;
    Json& physical = location["physicalLocation"];
    physical["artifactLocation"] = {{"uri", UriPath(file)},
                                    {"uriBaseId", "OUT"}};
    physical["region"]["startLine"] = 1;
    location["logicalLocations"] = Json::array(
        {{{"name", Word(finding, "kernel")}, {"kind", "function"}}});
    result["locations"] = Json::array({location});
  }
  result["partialFingerprints"]["mlafuzzFinding/v1"] = Word(finding, "id");
  result["properties"] = {{"property", Word(finding, "property")},
                          {"verdict", Word(finding, "verdict")}};
  return result;
}

}  // namespace

Json Sarif(const Json& report) {
  Json rules = Json::array(), results = Json::array();
  for (const Json& finding : report.at("findings")) {
    std::size_t rule = 0;
    while (rule < rules.size() &&
           rules[rule]["id"] != Word(finding, "cause_key")) {
      ++rule;
    }
    if (rule == rules.size()) rules.push_back(Rule(finding));
    results.push_back(Result(finding, rule));
  }
  Json run;
  run["tool"]["driver"] = {{"name", "mlafuzz"}, {"rules", rules}};
  Json invocation;
  invocation["commandLine"] = Word(report, "command");
  invocation["executionSuccessful"] = Word(report, "error").empty();
  invocation["exitCode"] = report.at("exit_code");
  if (const std::string error = Word(report, "error"); !error.empty()) {
    invocation["toolExecutionNotifications"] =
        Json::array({{{"level", "error"}, {"message", {{"text", error}}}}});
  }
  run["invocations"] = Json::array({invocation});
  run["originalUriBaseIds"]["OUT"]["description"]["text"] =
      "the campaign's output folder";
  run["results"] = results;
  run["properties"] = {{"target", Word(report, "target")},
                       {"tier", Word(report, "tier")},
                       {"flavour", Word(report, "flavour")},
                       {"seed", report.at("seed")}};
  Json sarif;
  sarif["$schema"] =
      "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
      "sarif-schema-2.1.0.json";
  sarif["version"] = "2.1.0";
  sarif["runs"] = Json::array({run});
  return sarif;
}

}  // namespace mlafuzz
