#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/report/page_parts.h"
#include "fuzz/campaign/report/picture.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string CurvesHtml(const Json& report) {
  std::string html = "<div class=\"curves\">\n";
  for (const char* name : {"cases", "coverage", "findings"}) {
    std::vector<CurveSample> samples;
    for (const Json& point : report.at("curve")) {
      samples.push_back({point.at("seconds"), point.at(name)});
    }
    // A library's code is not counted.
    if (std::string(name) == "coverage" && report.at("coverage") == 0) continue;
    html += CurveSvg(name, samples, std::string(name) == "findings");
  }
  return html + "</div>\n";
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f%%", 100 * share);
}

std::string Meter(double share) {
  return absl::StrFormat("<meter value=\"%.4f\" title=\"%s\"></meter> %s",
                         share, Percent(share), Percent(share));
}

std::string VerdictsHtml(const Json& report, UsedWords& used) {
  const Json& verdicts = report.at("verdicts");
  const double all = std::max<double>(1, verdicts.at("checks"));
  std::string html =
      "<h2 id=\"verdicts\">Verdicts</h2>\n<div class=\"wide\" tabindex=\"0\">"
      "<table><thead><tr><th>verdict</th><th>checks</th><th>share</th></tr>"
      "</thead><tbody>\n";
  for (const auto& [name, count] : verdicts.items()) {
    if (name == "checks" || count == 0) continue;
    absl::StrAppend(&html, "<tr><th>", WordHtml(name, used),
                    "</th><td class=\"n\">",
                    Grouped(count.get<std::uint64_t>()), "</td><td>",
                    Meter(count.get<double>() / all), "</td></tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

// Field by field, the share of cases that could have seen another rule.
std::string PowerHtml(const Json& report, UsedWords& used) {
  std::string html = absl::StrCat(
      "<h2 id=\"power\">What could have been seen</h2>\n<p>Of the sampled "
      "steps of its kernel, the share in which another value of the field "
      "would have shown (",
      Grouped(report.at("power_samples").get<std::uint64_t>()),
      " cases were sampled); the same of cases made for the field.</p>\n"
      "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>field</th>"
      "<th>share</th><th>sampled</th><th>made for it</th><th>their share</th>"
      "</tr></thead><tbody>\n");
  for (const Json& row : report.at("power_table")) {
    const Json& made = row.at("made_for_share");
    absl::StrAppend(
        &html, "<tr><th>", WordHtml(row.at("field"), used), "</th><td>",
        Meter(row.at("share")), "</td><td class=\"n\">",
        Grouped(row.at("sampled").get<std::uint64_t>()),
        "</td><td class=\"n\">",
        Grouped(row.at("made_for").get<std::uint64_t>()),
        "</td><td class=\"n\">",
        made.is_null() ? std::string("none sampled") : Percent(made),
        "</td></tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string ListItem(const std::string& what,
                     const std::vector<std::string>& words) {
  return absl::StrCat("<li>", what, ": ",
                      words.empty() ? "none" : absl::StrJoin(words, ", "),
                      "</li>\n");
}

// Of two targets, what only one of them answered.
std::string NotComparedHtml(const Json& report) {
  const auto comparison = report.find("comparison");
  if (comparison == report.end() || comparison->at("not_compared") == 0) {
    return "";
  }
  const auto left_out = comparison->at("not_compared").get<std::uint64_t>();
  std::string html = absl::StrCat(
      "<li>cases that were not compared: ", Grouped(left_out), " of ",
      Grouped(left_out + comparison->at("compared").get<std::uint64_t>()),
      "</li>\n");
  for (const Json& side : comparison->at("not_taken")) {
    if (side.at("cases") == 0) continue;
    absl::StrAppend(
        &html, "<li>cases that ",
        MarkupText(side.at("target").get<std::string>()),
        " did not take: ", Grouped(side.at("cases").get<std::uint64_t>()),
        ", the first: ", MarkupText(side.at("first").get<std::string>()),
        "</li>\n");
  }
  return html;
}

// So that silence is not taken for proof.
std::string GapsHtml(const Json& report, UsedWords& used) {
  std::vector<std::string> knobs, fields, relations;
  for (const auto& [name, count] : report.at("knobs").items()) {
    if (count == 0) knobs.push_back(MarkupText(name));
  }
  for (const Json& row : report.at("power_table")) {
    if (row.at("share") == 0 &&
        (row.at("made_for_share").is_null() || row.at("made_for_share") == 0)) {
      fields.push_back(WordHtml(row.at("field"), used));
    }
  }
  for (const Json& one : report.at("relations_not_tried")) {
    relations.push_back(
        absl::StrCat(WordHtml(one.at("relation"), used), " (",
                     MarkupText(one.at("kernel").get<std::string>()), ")"));
  }
  std::string html = absl::StrCat(
      "<h2 id=\"gaps\">What was not exercised</h2>\n<ul>\n",
      ListItem("value classes that no case had", knobs),
      ListItem("fields of which no wrong value could have been seen", fields),
      ListItem("relations that were never tried", relations),
      NotComparedHtml(report));
  for (const Json& skipped : report.at("skipped")) {
    absl::StrAppend(&html, "<li>", MarkupText(skipped.get<std::string>()),
                    "</li>\n");
  }
  return html + "</ul>\n";
}

// What the output folder knows of causes, from campaign to campaign.
std::string KnownHtml(const Json& report) {
  const auto known = report.find("known_causes");
  if (known == report.end() || known->empty()) return "";
  std::string html =
      "<h2 id=\"known\">Known causes</h2>\n<div class=\"wide\" "
      "tabindex=\"0\"><table><thead><tr><th>cause</th><th>where</th><th>this "
      "time</th><th>last failed</th><th>examples</th><th>muted</th></tr>"
      "</thead><tbody>\n";
  for (const Json& cause : *known) {
    const auto word = [&cause](const char* name) {
      return MarkupText(cause.at(name).get<std::string>());
    };
    // A narrow screen may break names where their parts meet.
    const auto name = [&word](const char* member) {
      return absl::StrReplaceAll(
          word(member), {{"/", "/<wbr>"}, {"=", "=<wbr>"}, {"_", "_<wbr>"}});
    };
    absl::StrAppend(&html, "<tr><th>", name("cause_key"), "</th><td>",
                    word("stage"), "/<wbr>", word("id"), "</td><td>",
                    word("news"), "</td><td>", word("last_failed"),
                    "</td><td class=\"n\">",
                    Grouped(cause.at("examples").get<std::uint64_t>()),
                    "</td><td>", word("muted"), "</td></tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string CampaignHtml(const Json& report, UsedWords& used) {
  return absl::StrCat(KnownHtml(report), "<h2 id=\"course\">Course</h2>\n",
                      CurvesHtml(report), VerdictsHtml(report, used),
                      PowerHtml(report, used), GapsHtml(report, used),
                      LedgerHtml(report));
}

}  // namespace mlafuzz
