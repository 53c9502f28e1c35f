#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/report/cause_pages.h"
#include "fuzz/campaign/report/evidence_pictures.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/report/page_parts.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

// Bytes of a text on the page: a case and a reproducer of usual size are below
// these.
constexpr std::size_t kMostShown = 8 << 10;
constexpr std::size_t kMostReproducerShown = 28 << 10;
constexpr std::size_t kShort = 1 << 10;  // where there is no room

std::string Word(const Json& json, const char* name) {
  return MarkupText(json.at(name).get<std::string>());
}

void Fact(const std::string& name, const std::string& html, std::string* page) {
  if (html.empty()) return;
  absl::StrAppend(page, "<dt>", name, "</dt><dd>", html, "</dd>\n");
}

std::string FileLink(const std::string& path) {
  if (path.empty()) return "";
  std::string uri;
  // Names of files are of this program's making: letters, digits, '-', '.'.
  for (const char c : path) {
    if (c != '"' && c != '<' && c != '&' && c != '%' && c != ':') uri += c;
  }
  return absl::StrCat("<a href=\"", MarkupText(uri), "\">", MarkupText(path),
                      "</a>");
}

std::string ReliabilityText(const Json& finding) {
  if (finding.at("reruns") == 0) return "not run again";
  return absl::StrCat("failed alike in ",
                      finding.at("reruns_failed_alike").get<int>(), " of ",
                      finding.at("reruns").get<int>(), " fresh processes");
}

std::string FactsHtml(const Json& finding, UsedWords& used) {
  std::string html = "<dl class=\"facts\">\n";
  Fact("kernel", Word(finding, "kernel"), &html);
  Fact("verdict", WordHtml(finding.at("verdict"), used), &html);
  Fact("property", WordHtml(finding.at("property"), used), &html);
  const std::string key = finding.at("cause_key");
  const std::string word = WordOfCause(key);
  std::string cause = absl::StrCat("<code>", MarkupText(key), "</code>");
  if (PageOf(word) != nullptr) {
    absl::StrAppend(&cause, " (what is ", WordHtml(word, used), "?)");
  }
  Fact("cause", cause, &html);
  std::string others;
  for (const Json& other : finding.at("cause_may_be")) {
    absl::StrAppend(&others, others.empty() ? "" : ", ", "<code>",
                    MarkupText(other.get<std::string>()), "</code>");
  }
  Fact("or one of", others, &html);
  Fact("reliability", ReliabilityText(finding), &html);
  std::string found = absl::StrCat(
      Grouped(finding.at("executions_to_find").get<std::uint64_t>()),
      " calls, ", Grouped(finding.at("cases_to_find").get<std::uint64_t>()),
      " cases, ",
      absl::StrFormat("%.1f s", finding.at("seconds_to_find").get<double>()));
  // Deaths, and what is taken for one finding later: no more is counted.
  if (const auto repeats = finding.at("repeats").get<std::uint64_t>();
      repeats != 0) {
    absl::StrAppend(
        &found, "; seen again ",
        repeats == 1 ? "once" : absl::StrCat(Grouped(repeats), " times"));
  }
  Fact("found after", found, &html);
  std::string shapes;
  for (const Json& shape : finding.at("shapes")) {
    absl::StrAppend(&shapes, shapes.empty() ? "" : "<br>", "<code>",
                    Word(shape, "cause_key"), "</code> ",
                    FileLink(shape.at("case")));
  }
  Fact("also shows as", shapes, &html);
  Fact("note", Word(finding, "note"), &html);
  if (finding.contains("known")) {
    Fact("known before", Word(finding, "known"), &html);
  }
  Fact("no pictures", Word(finding, "evidence_note"), &html);
  return html + "</dl>\n";
}

std::string ReproducersHtml(const Json& finding,
                            const FindingDetails& details) {
  std::string html = "<h3>Reproducers</h3>\n<ul>\n";
  for (const Json& r : finding.at("reproducers")) {
    const std::string path = r.at("path");
    absl::StrAppend(&html, "<li>", FileLink(path), path.empty() ? "" : " (",
                    Word(r, "kind"),
                    path.empty() ? ": " : "): ", Word(r, "words"), "</li>\n");
  }
  for (const auto& [member, words] :
       {std::pair("minimal_case", " (minimal case)"),
        std::pair("case", " (case as found)")}) {
    const std::string path = finding.at(member);
    if (path.empty()) continue;
    absl::StrAppend(&html, "<li>", FileLink(path), words, "</li>\n");
  }
  html += "</ul>\n";
  if (!details.reproducer.empty()) {
    html += CopyHtml(details.reproducer_path, details.reproducer,
                     details.reproducer_path, kMostReproducerShown);
  }
  return html;
}

}  // namespace

std::string CopyHtml(const std::string& title, const std::string& text,
                     const std::string& file, std::size_t most) {
  const bool cut = text.size() > most;
  const std::string shown = text.substr(0, most);
  const std::size_t lines =
      std::min<std::size_t>(18, 1 + static_cast<std::size_t>(std::count(
                                        shown.begin(), shown.end(), '\n')));
  std::string html = absl::StrCat(
      "<label>", MarkupText(title), "<textarea readonly rows=\"",
      std::max<std::size_t>(lines, 2), "\" spellcheck=\"false\">\n",
      MarkupText(shown), "</textarea></label>\n");
  if (cut) {
    absl::StrAppend(&html, "<p>The first ", most, " of ", text.size(),
                    " bytes; all of it: ",
                    FileLink(file.empty() ? "report.json" : file), "</p>\n");
  }
  return html;
}

std::string FindingHtml(const Json& finding, const FindingDetails& details,
                        bool room, UsedWords& used) {
  const std::size_t most = room ? kMostShown : kShort;
  std::string html = absl::StrCat("<p>", Word(finding, "cause"), "</p>\n",
                                  FactsHtml(finding, used));
  if (details.evidence != nullptr) {
    absl::StrAppend(&html, EvidenceHtml(*details.evidence));
  }
  if (const std::string detail = finding.at("detail"); !detail.empty()) {
    html += CopyHtml("what was seen, of the case as found", detail, "", most);
  }
  const std::string minimal = finding.at("minimal_text");
  if (!minimal.empty()) {
    html += CopyHtml("minimal case", minimal, finding.at("minimal_case"), most);
  } else if (const std::string found = finding.value("case_text", "");
             !found.empty()) {
    html += CopyHtml("the case as found", found, finding.at("case"), most);
  }
  html += ReproducersHtml(finding, details);
  html += CopyHtml("replay", finding.at("replay"), "", most);
  return html;
}

}  // namespace mlafuzz
