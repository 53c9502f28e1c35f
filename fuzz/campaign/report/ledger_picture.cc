#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign/progress.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/report/page_parts.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

// Colours, signs and words as on the ledger's own page.
struct Sign {
  const char* style;
  const char* sign;
  const char* words;
};
constexpr Sign kSigns[] = {
    {"la", "\u25cf", "found with every seed"},
    {"ls", "\u25d0", "found with some seeds, and wherever it was triggered"},
    {"lg", "\u25cb", "not found: never triggered"},
    {"lo", "\u2715", "triggered with more seeds than found"},
};

const Sign& SignOf(const Json& row) {
  if (row.at("weak") == "none") return kSigns[0];
  if (row.at("weak") == "oracle") return kSigns[3];
  return row.at("detected") == 0 ? kSigns[2] : kSigns[1];
}

std::string Words(const Json& row, const Sign& sign) {
  std::string words =
      absl::StrCat(row.at("id").get<std::string>(), ": ", sign.words, " (",
                   row.at("detected").get<std::uint64_t>(), " of ",
                   row.at("seeds").get<std::uint64_t>(), ")");
  if (row.at("detected") != 0 && row.at("cause") != "right") {
    absl::StrAppend(&words, ", cause ", row.at("cause").get<std::string>());
  }
  return words;
}

}  // namespace

std::string LedgerHtml(const Json& report) {
  if (!report.contains("ledger")) return "";
  const Json& ledger = report.at("ledger");
  std::map<std::string, std::string> squares;  // by kernel
  std::map<std::string, int> counts;           // by style
  std::string open;
  for (const Json& row : ledger.at("wrong")) {
    const Sign& sign = SignOf(row);
    ++counts[sign.style];
    const std::string words = MarkupText(Words(row, sign));
    absl::StrAppend(&squares[row.at("kernel")], "<span class=\"", sign.style,
                    "\" title=\"", words, "\">", sign.sign, "</span>");
    if (&sign != &kSigns[0]) absl::StrAppend(&open, "<li>", words, "</li>\n");
  }
  std::string html = absl::StrCat(
      "<h2 id=\"ledger\">Ledger</h2>\n<p>Wrong kernels of this project, ",
      ledger.at("seeds").get<std::uint64_t>(), " seeds each, flavour ",
      MarkupText(ledger.at("flavour").get<std::string>()), ", as <code>",
      MarkupText(ledger.at("file").get<std::string>()),
      "</code> has them: what a campaign like this one finds.</p>\n"
      "<div class=\"wide\" tabindex=\"0\"><table><tbody>\n");
  for (const auto& [kernel, cells] : squares) {
    absl::StrAppend(&html, "<tr><th>", MarkupText(kernel),
                    "</th><td class=\"ledger\">", cells, "</td></tr>\n");
  }
  absl::StrAppend(&html,
                  "</tbody></table></div>\n<ul class=\"legend ledger\">");
  for (const Sign& sign : kSigns) {
    absl::StrAppend(&html, "<li><span class=\"", sign.style, "\">", sign.sign,
                    "</span> ", counts[sign.style], " ", sign.words, "</li>");
  }
  absl::StrAppend(&html, "</ul>\n");
  if (!open.empty()) absl::StrAppend(&html, "<ul>\n", open, "</ul>\n");
  std::uint64_t cases = 0;
  std::string alarms;
  for (const Json& row : ledger.at("right")) {
    cases += row.at("cases").get<std::uint64_t>();
    if (row.at("false_alarms") == 0) continue;
    absl::StrAppend(&alarms, alarms.empty() ? "" : ", ",
                    MarkupText(row.at("id").get<std::string>()));
  }
  absl::StrAppend(&html, "<p>", ledger.at("right").size(), " right kernels, ",
                  Grouped(cases), " cases: ",
                  alarms.empty() ? "no false alarm"
                                 : absl::StrCat("false alarms of ", alarms),
                  ".</p>\n");
  return html;
}

}  // namespace mlafuzz
