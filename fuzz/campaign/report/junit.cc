#include "fuzz/campaign/report/junit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string Word(const Json& json, const char* name) {
  return MarkupText(json.at(name).get<std::string>());
}

// A process that died is an error to CI, a wrong result a failure.
bool IsError(const Json& finding) {
  const std::string verdict = finding.at("verdict");
  return verdict != "fail" && verdict != "flaky";
}

std::string FindingXml(const Json& finding) {
  if (finding.contains("known")) {
    return absl::StrCat(
        "    <testcase classname=\"mlafuzz.", Word(finding, "kernel"),
        "\" name=\"", Word(finding, "id"),
        "\">\n      <skipped message=\"known before: ", Word(finding, "known"),
        "\"/>\n    </testcase>\n");
  }
  const char* element = IsError(finding) ? "error" : "failure";
  return absl::StrCat(
      "    <testcase classname=\"mlafuzz.", Word(finding, "kernel"),
      "\" name=\"", Word(finding, "id"), "\">\n      <", element, " type=\"",
      Word(finding, "property"), "\" message=\"", Word(finding, "cause"), "\">",
      Word(finding, "detail"), "\nreplay: ", Word(finding, "replay"), "\n",
      Word(finding,
           finding.contains("case_text") ? "case_text" : "minimal_text"),
      "</", element, ">\n    </testcase>\n");
}

}  // namespace

std::string JunitXml(const Json& report) {
  std::string cases;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  for (const Json& finding : report.at("findings")) {
    ++tests;
    ++(finding.contains("known") ? skipped
       : IsError(finding)        ? errors
                                 : failures);
    cases += FindingXml(finding);
  }
  for (const Json& kernel : report.at("kernels")) {
    const Json& findings = report.at("findings");
    if (std::any_of(findings.begin(), findings.end(),
                    [&](const Json& f) { return f.at("kernel") == kernel; })) {
      continue;
    }
    ++tests;
    absl::StrAppend(&cases, "    <testcase classname=\"mlafuzz\" name=\"",
                    MarkupText(kernel.get<std::string>()), "\"/>\n");
  }
  ++tests;
  absl::StrAppend(&cases,
                  "    <testcase classname=\"mlafuzz\" name=\"campaign\"");
  if (!report.at("error").get<std::string>().empty()) {
    ++errors;
    absl::StrAppend(&cases, ">\n      <error type=\"ended-early\" message=\"",
                    Word(report, "error"), "\"/>\n    </testcase>\n");
  } else if (report.at("exit_code") == 3) {
    ++skipped;
    absl::StrAppend(&cases, ">\n      <skipped message=\"",
                    Word(report, "summary"), "\"/>\n    </testcase>\n");
  } else {
    absl::StrAppend(&cases, "/>\n");
  }
  const std::string counts = absl::StrFormat(
      "tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" "
      "time=\"%.3f\"",
      tests, failures, errors, skipped, report.at("seconds").get<double>());
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                      "<testsuites ", counts, ">\n  <testsuite name=\"mlafuzz ",
                      Word(report, "target"), "\" ", counts, ">\n", cases,
                      "  </testsuite>\n</testsuites>\n");
}

}  // namespace mlafuzz
