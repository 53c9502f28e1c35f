#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_PARTS_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_PARTS_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fuzz/campaign/report/page.h"

// Parts of report.html; each is HTML and has escaped all that it was given.
namespace mlafuzz {

extern const char kPageStyle[];

// Words that the page used and explains at its end.
using UsedWords = std::set<std::string>;

// `word` linked to its explanation, or as it is where there is none.
std::string WordHtml(const std::string& word, UsedWords& used);

// Curves, verdicts, the informative share of every field, what was not
// exercised.
std::string CampaignHtml(const nlohmann::ordered_json& report, UsedWords& used);

// The picture of a ledger's result; empty without one.
std::string LedgerHtml(const nlohmann::ordered_json& report);

// One finding: its cause, bytes, case, reproducers and commands. Where there is
// no room texts are cut short.
std::string FindingHtml(const nlohmann::ordered_json& finding,
                        const FindingDetails& details, bool room,
                        UsedWords& used);

// A text to copy: a click, or Ctrl+A in it, selects all of it. What is beyond
// `most` bytes is cut, and `file` named for the rest.
std::string CopyHtml(const std::string& title, const std::string& text,
                     const std::string& file, std::size_t most);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_PARTS_H_
