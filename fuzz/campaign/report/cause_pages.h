#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_CAUSE_PAGES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_CAUSE_PAGES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// One word that a report uses, explained: a section of docs/causes/FILE.md.
struct CausePage {
  std::string name;  // "writer.tail", "two-poison", "crash"
  std::string file;  // "writer.md"
  std::string text;  // Markdown below the heading
};

// All sections of docs/causes, which are compiled in, in their order.
const std::vector<CausePage>& AllCausePages();

// Null if there is none.
const CausePage* PageOf(absl::string_view name);

// The word of a cause's key: "writer/writer.tail=TAIL_UNCHANGED" ->
// "writer.tail", "decode/crash/signal 11" -> "crash",
// "decode/accepted-invalid:decode.pe_dim" -> "accepted-invalid".
std::string WordOfCause(absl::string_view key);
const CausePage* PageOfCause(absl::string_view key);

// A section's Markdown (paragraphs, lists, `code`, [text](link)) as HTML; links
// are shown, not followed.
std::string PageHtml(const CausePage& page);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_CAUSE_PAGES_H_
