#include "fuzz/campaign/report/markup.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

constexpr absl::string_view kReplacement = "\uFFFD";

// Bytes of the character that `bytes` begins with, and which it is; 0 if it is
// none (RFC 3629: shortest form, no surrogates, up to U+10FFFF).
std::size_t FirstCharacter(absl::string_view bytes, std::uint32_t* character) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint8_t>(bytes[i]);
  };
  const std::uint8_t first = at(0);
  std::size_t size = 0;
  std::uint32_t least = 0;
  if (first < 0x80) {
    *character = first;
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0) {
    size = 2;
    least = 0x80;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3;
    least = 0x800;
  } else if (first >= 0xf0 && first < 0xf5) {
    size = 4;
    least = 0x10000;
  } else {
    return 0;
  }
  if (bytes.size() < size) return 0;
  std::uint32_t value = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (at(i) & 0x3fu);
  }
  if (value < least || value > 0x10ffff ||
      (value >= 0xd800 && value < 0xe000)) {
    return 0;
  }
  *character = value;
  return size;
}

bool IsShown(std::uint32_t c) {
  if (c < 0x20) return c == '\n' || c == '\t';
  if (c >= 0x7f && c < 0xa0) return false;
  // Marks, embeddings and isolates of direction; a byte order mark; what XML
  // has no place for.
  return !(c >= 0x200e && c <= 0x200f) && !(c >= 0x202a && c <= 0x202e) &&
         !(c >= 0x2066 && c <= 0x2069) && c != 0x061c && c != 0xfeff &&
         c != 0xfffe && c != 0xffff;
}

}  // namespace

std::string ShownText(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    std::uint32_t character = 0;
    const std::size_t size = FirstCharacter(bytes, &character);
    if (size == 0 || !IsShown(character)) {
      absl::StrAppend(&text, kReplacement);
    } else {
      absl::StrAppend(&text, bytes.substr(0, size));
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

std::string ShownLine(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    std::uint32_t character = 0;
    const std::size_t size = FirstCharacter(bytes, &character);
    const std::size_t taken = size == 0 ? 1 : size;
    if (size == 0 || !IsShown(character) || character == '\n' ||
        character == '\t') {
      for (const char c : bytes.substr(0, taken)) {
        absl::StrAppend(
            &text, "\\x",
            absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
      }
    } else {
      absl::StrAppend(&text, bytes.substr(0, taken));
    }
    bytes.remove_prefix(taken);
  }
  return text;
}

std::string MarkupText(absl::string_view bytes) {
  std::string out;
  for (const char c : ShownText(bytes)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string MarkdownText(absl::string_view bytes) {
  // As numbers all of these are text, in tables and at a line's start too.
  constexpr absl::string_view kMarkup = "&<>\"'\\`*_{}[]()#+-.!|~@:$^=";
  std::string out;
  for (const char c : ShownText(bytes)) {
    if (c == '\n' || c == '\t') {
      out += ' ';
    } else if (kMarkup.find(c) != absl::string_view::npos) {
      absl::StrAppend(&out, "&#", static_cast<int>(c), ";");
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace mlafuzz
