#include "fuzz/campaign/report/evidence_pictures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/report/picture.h"

namespace mlafuzz {
namespace {

using Buffer = Evidence::Buffer;

constexpr std::size_t kMostMaps = 3;    // rows that are drawn, a buffer
constexpr std::size_t kMostRuns = 24;   // lines of the table, a buffer
constexpr std::int64_t kMostBytes = 8;  // of a run that are written out
constexpr std::int64_t kMostCells = 4096;
constexpr std::size_t kMostHeatRows = 64;

int ElementBytes(const Buffer& buffer) {
  const std::string& dtype = buffer.dtype();
  if (dtype == "u8") return 1;
  if (dtype == "i64") return 8;
  return dtype == "bf16" || dtype == "f16" ? 2 : 4;
}

// A part of a row that one colour shows.
struct Part {
  std::string name;
  std::int64_t begin = 0;  // bytes of the row
  std::int64_t end = 0;
  char kind = 'a';
};

// Of a cache [pages, page size, bytes a token] whose tokens have a part behind
// all rows of their page, so that a row is shorter than a token.
bool IsSplit(const Buffer& buffer) {
  return buffer.name() == "cache" && buffer.shape_size() == 3 &&
         buffer.strides(1) < buffer.shape(2);
}

// Whether the cache's rows are of 512 codes in four tiles, with scales behind
// them: other rows, one scale's or those of pages with scales behind, have
// other tiles and maybe rope among the 512.
bool HasFourTiles(const Evidence& evidence) {
  for (const Buffer& buffer : evidence.buffers()) {
    if (buffer.name() != "cache" || buffer.shape_size() == 0) continue;
    const std::int64_t bytes = buffer.shape(buffer.shape_size() - 1);
    return !IsSplit(buffer) && (bytes == 656 || bytes == 528);
  }
  return true;
}

// Where a 656-byte row has what, or a page with scales behind its rows; else by
// the columns of a dense row.
std::vector<Part> PartsOf(const Evidence& evidence, const Buffer& buffer,
                          std::int64_t row_bytes) {
  std::vector<Part> parts;
  const auto tiles = [&](const char* words, std::int64_t bytes) {
    for (int tile = 0; tile < 4; ++tile) {
      parts.push_back({absl::StrCat(words, tile), tile * 128 * bytes,
                       (tile + 1) * 128 * bytes, tile % 2 == 0 ? 'a' : 'b'});
    }
  };
  if (IsSplit(buffer)) {
    const std::int64_t behind = buffer.shape(1) * buffer.strides(1);
    parts.push_back({"rows", 0, behind, 'a'});
    parts.push_back({"scales behind them", behind, row_bytes, 'c'});
  } else if (buffer.name() == "cache" && row_bytes == 656) {
    tiles("codes of tile ", 1);
    parts.push_back({"scales", 512, 528, 'c'});
    parts.push_back({"rope or tail", 528, 656, 'd'});
  } else if (HasFourTiles(evidence) &&
             ((buffer.name() == "dst" && row_bytes == 1152) ||
              (buffer.dtype() == "bf16" && row_bytes == 1024))) {
    tiles("columns of tile ", 2);
    if (row_bytes == 1152) {
      parts.push_back({"rope columns", 1024, 1152, 'd'});
    }
  } else {
    parts.push_back({"elements", 0, row_bytes, 'a'});
  }
  return parts;
}

// The rows of a buffer: its innermost dimension, by all outer ones. Of a split
// cache a page is one.
class Rows {
 public:
  explicit Rows(const Buffer& buffer)
      : buffer_(buffer), element_(ElementBytes(buffer)) {
    const int dims = buffer.shape_size();
    if (IsSplit(buffer)) {
      inner_ = buffer.shape(1) * buffer.shape(2);
      outer_ = {buffer.shape(0)};
      strides_ = {buffer.strides(0)};
      return;
    }
    inner_ = dims > 0 ? buffer.shape(dims - 1) : 0;
    // The elements of one dimension are one row, those of an [n, h] matrix of
    // numbers too, unless they are long.
    for (int i = 0; i + 1 < dims; ++i) {
      outer_.push_back(buffer.shape(i));
      strides_.push_back(buffer.strides(i) * element_);
    }
  }

  std::int64_t bytes() const { return inner_ * element_; }
  int element() const { return element_; }

  // The row that holds byte `at` of the buffer, and the byte in it; false for a
  // byte between rows.
  bool Find(std::int64_t at, std::int64_t* row, std::int64_t* byte) const {
    std::int64_t rest = at - buffer_.origin();
    if (rest < 0) return false;
    std::int64_t number = 0;
    for (std::size_t i = 0; i < outer_.size(); ++i) {
      if (strides_[i] <= 0 || outer_[i] <= 0) return false;
      const std::int64_t k = std::min(rest / strides_[i], outer_[i] - 1);
      rest -= k * strides_[i];
      number = number * outer_[i] + k;
    }
    if (rest >= bytes()) return false;
    *row = number;
    *byte = rest;
    return true;
  }

  std::string Name(std::int64_t row) const {
    if (outer_.empty()) return buffer_.name();
    if (buffer_.name() == "cache") {
      return absl::StrCat(IsSplit(buffer_) ? "page " : "slot ", row);
    }
    if (outer_.size() == 2) {
      return absl::StrCat(buffer_.name(), " of query ", row / outer_[1],
                          ", head ", row % outer_[1]);
    }
    return absl::StrCat(buffer_.name(), " row ", row);
  }

 private:
  const Buffer& buffer_;
  const int element_;
  std::int64_t inner_ = 0;
  std::vector<std::int64_t> outer_, strides_;
};

std::string Hex(const std::string& bytes, std::int64_t begin,
                std::int64_t end) {
  if (end > static_cast<std::int64_t>(bytes.size())) return "-";
  const auto b = static_cast<std::size_t>(begin);
  const auto size = static_cast<std::size_t>(end - begin);
  const std::string run = bytes.substr(b, size);
  if (size > 1 && run.find_first_not_of(run[0]) == std::string::npos) {
    return absl::StrFormat("%02x \u00d7 %d", static_cast<unsigned char>(run[0]),
                           size);
  }
  std::string text;
  for (std::size_t i = 0;
       i < std::min<std::size_t>(size, static_cast<std::size_t>(kMostBytes));
       ++i) {
    absl::StrAppendFormat(&text, "%s%02x", i == 0 ? "" : " ",
                          static_cast<unsigned char>(run[i]));
  }
  return static_cast<std::int64_t>(size) > kMostBytes ? text + " \u2026" : text;
}

// The first elements of a run of floating-point numbers.
std::string Numbers(const Buffer& buffer, const std::string& bytes,
                    std::int64_t begin, std::int64_t end) {
  if (end > static_cast<std::int64_t>(bytes.size())) return "-";
  constexpr std::int64_t kMostNumbers = 3;
  const std::int64_t element = ElementBytes(buffer);
  std::string text;
  for (std::int64_t i = 0; i < (end - begin) / element; ++i) {
    if (i == kMostNumbers) return text + " \u2026";
    // bf16 is the upper half of an fp32.
    std::uint32_t word = 0;
    std::memcpy(reinterpret_cast<char*>(&word) + 4 - element,
                bytes.data() + begin + i * element,
                static_cast<std::size_t>(element));
    absl::StrAppendFormat(&text, "%s%.6g", i == 0 ? "" : ", ",
                          std::bit_cast<float>(word));
  }
  return text;
}

struct Kind {
  char kind;
  std::string words;
};

std::string LegendHtml(const std::vector<Kind>& kinds) {
  std::string html = "<ul class=\"legend\">\n";
  for (const Kind& k : kinds) {
    absl::StrAppend(&html,
                    "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\">"
                    "<path class=\"k",
                    std::string(1, k.kind), "\" d=\"M0 0h1v1h-1z\"/></svg>",
                    MarkupText(k.words), "</li>\n");
  }
  return html + "</ul>\n";
}

// One row as a map: an element a cell, coloured by its part, or marked.
std::string MapHtml(const Evidence& evidence, const Buffer& buffer,
                    const Rows& rows, const std::string& name,
                    const std::vector<WrongRun>& runs) {
  const int element = rows.element();
  const std::int64_t cells = rows.bytes() / element;
  if (cells > kMostCells) return "";
  std::string map(static_cast<std::size_t>(cells), 'z');
  for (const Part& part : PartsOf(evidence, buffer, rows.bytes())) {
    std::fill(map.begin() + part.begin / element,
              map.begin() + std::min(part.end / element, cells), part.kind);
  }
  std::int64_t wrong = 0;
  for (const WrongRun& run : runs) {
    if (run.row != name) continue;
    for (std::int64_t i = run.begin / element; i <= (run.end - 1) / element;
         ++i) {
      wrong += map[static_cast<std::size_t>(i)] == 'x' ? 0 : 1;
      map[static_cast<std::size_t>(i)] = 'x';
    }
  }
  const std::string caption =
      absl::StrCat(name, ": ", wrong, " of ", cells,
                   element == 1 ? " bytes" : " elements", " are wrong");
  constexpr int kColumns = 64;
  return absl::StrCat("<figure>", GridSvg(caption, map, kColumns),
                      "<figcaption>", MarkupText(caption), "; ", kColumns,
                      " a line</figcaption></figure>\n");
}

std::string RunsHtml(const Buffer& buffer, const std::vector<WrongRun>& runs) {
  const bool bounded = !buffer.lowest().empty();
  std::string html = absl::StrCat(
      "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>where</th>"
      "<th>bytes</th><th>part</th><th>",
      bounded ? "lowest and highest" : "expected",
      "</th><th>got</th></tr></thead><tbody>\n");
  for (std::size_t i = 0; i < runs.size() && i < kMostRuns; ++i) {
    const WrongRun& run = runs[i];
    const std::int64_t end = run.at + run.end - run.begin;
    const std::string expected =
        bounded ? absl::StrCat(Numbers(buffer, buffer.lowest(), run.at, end),
                               "<br>",
                               Numbers(buffer, buffer.highest(), run.at, end))
                : Hex(buffer.expected(), run.at, end);
    const std::string got = bounded ? Numbers(buffer, buffer.got(), run.at, end)
                                    : Hex(buffer.got(), run.at, end);
    absl::StrAppend(
        &html, "<tr><td>",
        run.row.empty() ? absl::StrCat("between rows of ", buffer.name())
                        : MarkupText(run.row),
        "</td><td class=\"n\">", run.begin,
        run.end == run.begin + 1 ? "" : absl::StrCat("..", run.end - 1),
        "</td><td>", MarkupText(run.part), "</td><td><code>", expected,
        "</code></td><td><code>", got, "</code></td></tr>\n");
  }
  html += "</tbody></table></div>\n";
  if (runs.size() > kMostRuns) {
    absl::StrAppend(&html, "<p>and ", runs.size() - kMostRuns,
                    " more runs of wrong bytes</p>\n");
  }
  return html;
}

std::string BufferHtml(const Evidence& evidence, const Buffer& buffer) {
  const std::vector<WrongRun> runs = WrongRuns(evidence, buffer);
  if (runs.empty()) return "";
  const Rows rows(buffer);
  std::vector<std::string> names;
  for (const WrongRun& run : runs) {
    if (!run.row.empty() && (names.empty() || names.back() != run.row)) {
      names.push_back(run.row);
    }
  }
  std::string html;
  for (std::size_t i = 0; i < names.size() && i < kMostMaps; ++i) {
    html += MapHtml(evidence, buffer, rows, names[i], runs);
  }
  if (!html.empty()) {
    std::vector<Kind> kinds = {{'x', "wrong"}};
    for (const Part& part : PartsOf(evidence, buffer, rows.bytes())) {
      kinds.push_back({part.kind, part.name});
    }
    html += LegendHtml(kinds);
  }
  if (names.size() > kMostMaps) {
    absl::StrAppend(&html, "<p>", names.size() - kMostMaps, " more rows of ",
                    MarkupText(buffer.name()), " are wrong</p>\n");
  }
  return html + RunsHtml(buffer, runs);
}

char HeatKind(float heat) {
  if (std::isnan(heat) || heat > 1000) return '4';
  if (heat > 1) return '3';
  return heat > 0.5f ? '2' : heat > 0 ? '1' : '0';
}

// Errors over bounds: a line a query and head, a cell eight columns, the LSE
// after a gap.
std::string HeatHtml(const Evidence& evidence) {
  constexpr std::size_t kBins = 64;
  const std::size_t rows =
      static_cast<std::size_t>(evidence.heat_size()) / (kBins + 1);
  if (rows == 0) return "";
  // Rows next to each other share a line where there are too many.
  const std::size_t a_line = (rows + kMostHeatRows - 1) / kMostHeatRows;
  std::string cells;
  float most = 0;
  for (std::size_t row = 0; row < rows; row += a_line) {
    float line[kBins + 1] = {};
    for (std::size_t r = row; r < std::min(row + a_line, rows); ++r) {
      for (std::size_t i = 0; i <= kBins; ++i) {
        const float heat = evidence.heat(static_cast<int>(r * (kBins + 1) + i));
        if (std::isnan(heat) || heat > line[i]) line[i] = heat;
      }
    }
    for (std::size_t i = 0; i <= kBins; ++i) {
      if (i == kBins) cells += "  ";
      cells.append(i == kBins ? 2 : 1, HeatKind(line[i]));
      if (std::isnan(line[i]) || line[i] > most) most = line[i];
    }
  }
  const std::string caption =
      absl::StrCat("errors over their bounds: ", rows, " rows (query, head)",
                   a_line > 1 ? absl::StrCat(", ", a_line, " a line") : "",
                   ", 8 columns a cell, the LSE at the right; the largest is ",
                   absl::StrFormat("%.3g", most));
  return absl::StrCat(
      "<figure>", GridSvg(caption, cells, static_cast<int>(kBins) + 4),
      "<figcaption>", caption, "</figcaption></figure>\n",
      LegendHtml({{'0', "exact"},
                  {'1', "up to half the bound"},
                  {'2', "up to the bound"},
                  {'3', "wrong: above it"},
                  {'4', "wrong: above 1000 times, NaN or infinite"}}));
}

// Runs of whole elements: a byte of a wrong one may be right by chance.
std::vector<WrongRun> ToElements(const Rows& rows,
                                 const std::vector<WrongRun>& runs) {
  const std::int64_t element = rows.element();
  std::vector<WrongRun> out;
  for (WrongRun run : runs) {
    if (!run.row.empty()) {
      run.at -= run.begin % element;
      run.begin -= run.begin % element;
      run.end = (run.end + element - 1) / element * element;
    }
    if (!out.empty() && !run.row.empty() && out.back().row == run.row &&
        out.back().part == run.part && run.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, run.end);
      continue;
    }
    out.push_back(std::move(run));
  }
  return out;
}

}  // namespace

std::vector<WrongRun> WrongRuns(const Evidence& evidence,
                                const Buffer& buffer) {
  const Rows rows(buffer);
  const std::vector<Part> parts = PartsOf(evidence, buffer, rows.bytes());
  std::vector<WrongRun> runs;
  for (const Evidence::Range& range : buffer.wrong()) {
    for (std::int64_t at = range.begin(); at < range.end();) {
      WrongRun run;
      run.at = at;
      std::int64_t row = 0, byte = 0;
      if (rows.Find(at, &row, &byte)) {
        run.row = rows.Name(row);
        run.begin = byte;
        for (const Part& part : parts) {
          if (byte < part.begin || byte >= part.end) continue;
          run.part = part.name;
          run.end = std::min(part.end, byte + range.end() - at);
        }
        if (run.part == "rope or tail" && evidence.kernel() == "writer") {
          bool rope = false;
          for (const Buffer& other : evidence.buffers()) {
            rope |= other.name() == "k_pe";
          }
          run.part = rope ? "rope" : "tail";
        }
      } else {
        run.begin = at - buffer.origin();
        run.end = run.begin;
        std::int64_t next = at;
        while (next < range.end() && !rows.Find(next, &row, &byte)) ++next;
        run.end += next - at;
      }
      at += std::max<std::int64_t>(run.end - run.begin, 1);
      runs.push_back(run);
    }
  }
  return ToElements(rows, runs);
}

std::string EvidenceHtml(const Evidence& evidence) {
  if (!evidence.error().empty()) return "";
  std::string html = absl::StrCat("<h3>What the call left behind (step ",
                                  evidence.step(), ")</h3>\n");
  if (evidence.ended() != evidence.should_end()) {
    absl::StrAppend(&html, "<p>It had to end in <b>",
                    MarkupText(evidence.should_end()), "</b> and ended in <b>",
                    MarkupText(evidence.ended()), "</b>",
                    evidence.message().empty() ? "" : ": ",
                    MarkupText(evidence.message()), "</p>\n");
  }
  std::string shown = HeatHtml(evidence);
  for (const Buffer& buffer : evidence.buffers()) {
    shown += BufferHtml(evidence, buffer);
  }
  for (const Evidence::Stray& stray : evidence.strays()) {
    absl::StrAppend(&shown, "<p>", stray.count(), " bytes around ",
                    MarkupText(stray.buffer()), " changed, from ",
                    stray.first(), " to ", stray.last(),
                    " (bytes from its first)</p>\n");
  }
  if (shown.empty()) {
    shown = "<p>Every byte that could be looked at is as it has to be.</p>\n";
  }
  return html + shown;
}

}  // namespace mlafuzz
