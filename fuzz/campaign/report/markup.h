#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_MARKUP_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_MARKUP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// Words of a kernel (names, messages, paths) may hold any bytes. Each function
// takes any and gives valid UTF-8 that its format shows and never obeys.

// What is no UTF-8, a control character other than a line's end or a tab, or
// turns the direction of text becomes U+FFFD.
std::string ShownText(absl::string_view bytes);

// For names: one line. What ShownText replaces, line ends and tabs become \xNN,
// a byte each, as in kernels' messages.
std::string ShownLine(absl::string_view bytes);

// For text and for attributes in double quotes, of HTML and of XML.
std::string MarkupText(absl::string_view bytes);

// One line of Markdown in which nothing is markup; HTML neither.
std::string MarkdownText(absl::string_view bytes);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_MARKUP_H_
