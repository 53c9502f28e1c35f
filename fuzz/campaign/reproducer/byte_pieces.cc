#include "fuzz/campaign/reproducer/byte_pieces.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mlafuzz {
namespace {

constexpr std::size_t kShortestRun = 16;  // bytes

// How often the first `period` bytes come in a row.
std::size_t Repeats(absl::string_view bytes, std::size_t period) {
  if (bytes.size() < period) return 0;
  std::size_t end = period;
  while (end < bytes.size() && bytes[end] == bytes[end - period]) ++end;
  return end / period;
}

}  // namespace

std::vector<BytePiece> FoldBytes(absl::string_view bytes) {
  std::vector<BytePiece> pieces;
  std::string literal;
  const auto close = [&] {
    if (!literal.empty()) pieces.push_back({1, literal});
    literal.clear();
  };
  while (!bytes.empty()) {
    std::size_t best = 0, times = 0;
    for (const std::size_t period : {1, 2, 4, 8}) {
      const std::size_t n = Repeats(bytes, period);
      // A shorter period wins a tie.
      if (n > 1 && n * period >= kShortestRun && n * period > best * times) {
        best = period;
        times = n;
      }
    }
    if (best == 0) {
      literal += bytes[0];
      bytes.remove_prefix(1);
      continue;
    }
    close();
    pieces.push_back({times, std::string(bytes.substr(0, best))});
    bytes.remove_prefix(best * times);
  }
  close();
  return pieces;
}

std::vector<BytePatch> DifferenceOf(absl::string_view from,
                                    absl::string_view to) {
  constexpr std::size_t kShortestGap = 16;
  std::vector<BytePatch> patches;
  std::size_t end = 0;  // of the last patch
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    if (from[i] == to[i]) continue;
    if (patches.empty() || i - end > kShortestGap) {
      patches.push_back({i, ""});
      end = i;
    }
    absl::StrAppend(&patches.back().bytes, to.substr(end, i + 1 - end));
    end = i + 1;
  }
  return patches;
}

std::string ByteLiteral(absl::string_view bytes, absl::string_view indent) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      absl::StrAppend(&text, i == 0 ? "" : "\"\n", i == 0 ? "" : indent, "\"");
    }
    absl::StrAppendFormat(&text, "\\x%02x",
                          static_cast<unsigned char>(bytes[i]));
  }
  return text.empty() ? "\"\"" : text + "\"";
}

}  // namespace mlafuzz
