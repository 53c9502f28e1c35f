#include "fuzz/campaign/report/picture.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {

std::string CurveSvg(absl::string_view name,
                     const std::vector<CurveSample>& samples, bool stepped) {
  if (samples.size() < 2) return "";
  constexpr double kWidth = 300, kHeight = 90;
  double last = samples.back().x, most = 0;
  for (const CurveSample& s : samples) most = std::max(most, s.y);
  if (last <= 0) last = 1;
  const double scale = most > 0 ? most : 1;
  std::string path;
  double y_before = kHeight;
  for (const CurveSample& s : samples) {
    const double x = kWidth * s.x / last;
    const double y = kHeight - (kHeight - 2) * s.y / scale;
    if (path.empty()) {
      absl::StrAppendFormat(&path, "M%.1f %.1f", x, y);
    } else {
      if (stepped) absl::StrAppendFormat(&path, "L%.1f %.1f", x, y_before);
      absl::StrAppendFormat(&path, "L%.1f %.1f", x, y);
    }
    y_before = y;
  }
  return absl::StrFormat(
      "<figure class=\"curve\"><svg viewBox=\"0 0 %g %g\" role=\"img\" "
      "aria-label=\"%s over time, up to %.10g\"><path d=\"%s\"/></svg>"
      "<figcaption>%s: %.10g after %.1f s</figcaption></figure>\n",
      kWidth, kHeight, MarkupText(name), most, path, MarkupText(name),
      samples.back().y, last);
}

std::string GridSvg(absl::string_view label, absl::string_view cells,
                    int columns) {
  if (cells.empty() || columns <= 0) return "";
  const std::size_t width = static_cast<std::size_t>(columns);
  const std::size_t lines = (cells.size() + width - 1) / width;
  // One path a kind: a rectangle for each run within a line.
  std::map<char, std::string> paths;
  for (std::size_t i = 0; i < cells.size();) {
    const std::size_t line_end =
        std::min((i / width + 1) * width, cells.size());
    std::size_t end = i + 1;
    while (end < line_end && cells[end] == cells[i]) ++end;
    if (cells[i] != ' ') {
      absl::StrAppend(&paths[cells[i]], "M", i % width, " ", i / width, "h",
                      end - i, "v1h-", end - i, "z");
    }
    i = end;
  }
  std::string svg =
      absl::StrCat("<svg class=\"grid\" viewBox=\"0 0 ", columns, " ", lines,
                   "\" role=\"img\" aria-label=\"", MarkupText(label), "\">");
  for (const auto& [kind, path] : paths) {
    absl::StrAppend(&svg, "<path class=\"k", std::string(1, kind), "\" d=\"",
                    path, "\"/>");
  }
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace mlafuzz
