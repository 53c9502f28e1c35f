#include "fuzz/campaign/report/page.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/report/cause_pages.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/report/page_parts.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

// Findings whose sections are open at first.
constexpr std::size_t kMostOpen = 5;
// From here on findings have no pictures and short texts.
constexpr std::size_t kFullPage = std::size_t{2} << 20;

std::string Word(const Json& json, const char* name) {
  return MarkupText(json.at(name).get<std::string>());
}

std::string HeadHtml(const Json& report) {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'\">\n"
      // Browsers ask for one where none is named.
      "<link rel=\"icon\" href=\"data:,\">\n<title>mlafuzz: ",
      Word(report, "summary"), "</title>\n<style>", kPageStyle,
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#findings\">to the "
      "findings</a>\n");
}

std::string SummaryHtml(const Json& report) {
  const int code = report.at("exit_code");
  const char* style = code == 0 ? "clean" : code == 1 ? "found" : "unsure";
  std::string html =
      absl::StrCat("<h1 class=\"", style, "\">", Word(report, "summary"),
                   "</h1>\n<p>", Word(report, "target"));
  if (report.contains("compared_with")) {
    absl::StrAppend(&html, " against ", Word(report, "compared_with"));
  }
  std::string kernels;
  for (const Json& kernel : report.at("kernels")) {
    absl::StrAppend(&kernels, kernels.empty() ? "" : ", ",
                    MarkupText(kernel.get<std::string>()));
  }
  absl::StrAppend(&html, "</p>\n<dl class=\"facts\">\n<dt>kernels</dt><dd>",
                  kernels, "</dd>\n<dt>tier</dt><dd>", Word(report, "tier"),
                  "</dd>\n<dt>flavour</dt><dd>", Word(report, "flavour"),
                  "</dd>\n<dt>run</dt><dd>",
                  Grouped(report.at("cases").get<std::uint64_t>()),
                  absl::StrFormat(" cases in %.1f s, seed %d, %d %s",
                                  report.at("seconds").get<double>(),
                                  report.at("seed").get<std::uint64_t>(),
                                  report.at("jobs").get<int>(),
                                  report.at("jobs") == 1 ? "job" : "jobs"),
                  "</dd>\n<dt>command</dt><dd><code>", Word(report, "command"),
                  "</code></dd>\n<dt>build</dt><dd>",
                  Word(report.at("build"), "compiler"), "; kernels <code>",
                  Word(report.at("build"), "kernel_flags"), "</code></dd>\n");
  for (const Json& note : report.at("notes")) {
    absl::StrAppend(&html, "<dt>note</dt><dd>",
                    MarkupText(note.get<std::string>()), "</dd>\n");
  }
  for (const Json& incident : report.at("incidents")) {
    absl::StrAppend(&html, "<dt>from outside</dt><dd>",
                    MarkupText(incident.get<std::string>()), "</dd>\n");
  }
  return html + "</dl>\n";
}

std::string FindingsHtml(const Json& report,
                         const std::map<std::string, FindingDetails>& details,
                         UsedWords& used) {
  const Json& findings = report.at("findings");
  std::string html = "<h2 id=\"findings\">Findings</h2>\n";
  if (findings.empty()) return html + "<p>None.</p>\n";
  if (findings.size() > 1) {
    html += "<ol>\n";
    for (const Json& finding : findings) {
      absl::StrAppend(&html, "<li><a href=\"#finding-", Word(finding, "id"),
                      "\">", Word(finding, "id"), "</a></li>\n");
    }
    html += "</ol>\n";
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Json& finding = findings[i];
    FindingDetails shown;
    const bool room = html.size() < kFullPage;
    if (i < kMostPictured && room) {
      const auto found = details.find(finding.at("id"));
      if (found != details.end()) shown = found->second;
    }
    absl::StrAppend(&html, "<details class=\"finding\" id=\"finding-",
                    Word(finding, "id"), "\"", i < kMostOpen ? " open" : "",
                    ">\n<summary>", Word(finding, "id"),
                    " <span class=\"verdict\">", Word(finding, "verdict"),
                    "</span></summary>\n",
                    FindingHtml(finding, shown, room, used), "</details>\n");
  }
  return html;
}

std::string WordsHtml(const UsedWords& used) {
  std::string html = "<h2 id=\"words\">Words</h2>\n<dl class=\"words\">\n";
  for (const CausePage& page : AllCausePages()) {
    if (used.count(page.name) == 0) continue;
    absl::StrAppend(&html, "<dt id=\"word-", MarkupText(page.name), "\">",
                    MarkupText(page.name), "</dt>\n<dd>", PageHtml(page),
                    "</dd>\n");
  }
  return html + "</dl>\n";
}

}  // namespace

std::string WordHtml(const std::string& word, UsedWords& used) {
  if (PageOf(word) == nullptr) return MarkupText(word);
  used.insert(word);
  return absl::StrCat("<a href=\"#word-", MarkupText(word), "\">",
                      MarkupText(word), "</a>");
}

std::string ReportPage(const Json& report,
                       const std::map<std::string, FindingDetails>& details) {
  UsedWords used;
  std::string page = absl::StrCat(
      HeadHtml(report), "<main>\n", SummaryHtml(report),
      FindingsHtml(report, details, used), CampaignHtml(report, used));
  return absl::StrCat(page, WordsHtml(used), "</main>\n</body>\n</html>\n");
}

}  // namespace mlafuzz
