#include "kernels/foreign/sanitizer_log.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mlafuzz {
namespace {

constexpr absl::string_view kMark = "=========";

// "at void mlafuzz::Kernel<...>(Params)+0x2a0 in writer.cuh:120": the function
// without its arguments, whose text is longer than all else.
std::string Place(absl::string_view line) {
  const std::size_t offset = line.rfind("+0x");
  const std::size_t arguments = line.find('(');
  std::string text(line.substr(0, std::min(arguments, offset)));
  if (offset != absl::string_view::npos) {
    absl::StrAppend(&text, line.substr(offset));
  }
  return text;
}

// No report of a kernel.
bool IsNoReport(absl::string_view line) {
  return absl::StartsWith(line, "COMPUTE-SANITIZER") ||
         absl::StrContains(line, "SUMMARY");
}

}  // namespace

std::vector<std::string> SanitizerReportsIn(absl::string_view log) {
  std::vector<std::string> reports;
  std::string report;
  const auto end = [&] {
    if (!report.empty() &&
        std::find(reports.begin(), reports.end(), report) == reports.end()) {
      reports.push_back(report);
    }
    report.clear();
  };
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    if (!absl::ConsumePrefix(&line, kMark)) continue;
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    // Details are indented by more than one space.
    const bool detail = absl::StartsWith(line, "  ");
    if (text.empty() || IsNoReport(text)) {
      end();
    } else if (!detail) {
      end();
      report = Place(text);
    } else if (absl::StartsWith(text, "at ") &&
               !absl::StrContains(report, " at ")) {
      absl::StrAppend(&report, " ", Place(text));
    }
  }
  end();
  return reports;
}

}  // namespace mlafuzz
