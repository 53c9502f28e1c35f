#include "fuzz/campaign/report/cause_pages.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

struct EmbeddedFile {
  const char* name;
  const char* text;
};

constexpr EmbeddedFile kFiles[] = {
#include "fuzz/campaign/report/cause_pages.inc"
};

std::vector<CausePage> ParsePages() {
  std::vector<CausePage> pages;
  for (const EmbeddedFile& file : kFiles) {
    bool open = false;
    for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
      if (absl::ConsumePrefix(&line, "## ")) {
        pages.push_back({std::string(line), file.name, ""});
        open = true;
      } else if (open) {
        absl::StrAppend(&pages.back().text, line, "\n");
      }
    }
  }
  for (CausePage& page : pages) {
    page.text = std::string(absl::StripAsciiWhitespace(page.text));
  }
  return pages;
}

// `code` and [text](link) of one paragraph.
std::string InlineHtml(absl::string_view text) {
  std::string html;
  while (!text.empty()) {
    if (text[0] == '`') {
      const std::size_t end = text.find('`', 1);
      if (end != absl::string_view::npos) {
        absl::StrAppend(&html, "<code>", MarkupText(text.substr(1, end - 1)),
                        "</code>");
        text.remove_prefix(end + 1);
        continue;
      }
    }
    if (text[0] == '[') {
      const std::size_t middle = text.find("](");
      const std::size_t end = text.find(')', middle);
      if (middle != absl::string_view::npos && end != absl::string_view::npos) {
        const absl::string_view link =
            text.substr(middle + 2, end - middle - 2);
        absl::StrAppend(&html, MarkupText(text.substr(1, middle - 1)));
        if (absl::StartsWith(link, "https://")) {
          absl::StrAppend(&html, " (", MarkupText(link), ")");
        }
        text.remove_prefix(end + 1);
        continue;
      }
    }
    const std::size_t next = std::min(text.find_first_of("`[", 1), text.size());
    absl::StrAppend(&html, MarkupText(text.substr(0, next)));
    text.remove_prefix(next);
  }
  return html;
}

}  // namespace

const std::vector<CausePage>& AllCausePages() {
  static const auto* const kPages = new std::vector<CausePage>(ParsePages());
  return *kPages;
}

const CausePage* PageOf(absl::string_view name) {
  for (const CausePage& page : AllCausePages()) {
    if (page.name == name) return &page;
  }
  return nullptr;
}

std::string WordOfCause(absl::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash != absl::string_view::npos) key.remove_prefix(slash + 1);
  return std::string(key.substr(0, key.find_first_of("/=:")));
}

const CausePage* PageOfCause(absl::string_view key) {
  return PageOf(WordOfCause(key));
}

std::string PageHtml(const CausePage& page) {
  std::string html;
  for (const absl::string_view block : absl::StrSplit(page.text, "\n\n")) {
    if (!absl::StartsWith(block, "* ")) {
      absl::StrAppend(&html, "<p>", InlineHtml(block), "</p>\n");
      continue;
    }
    absl::StrAppend(&html, "<ul>\n");
    std::string item;
    const auto close = [&] {
      if (!item.empty()) {
        absl::StrAppend(&html, "<li>", InlineHtml(item), "</li>\n");
      }
    };
    for (absl::string_view line : absl::StrSplit(block, '\n')) {
      if (absl::ConsumePrefix(&line, "* ")) {
        close();
        item = std::string(line);
      } else {
        absl::StrAppend(&item, " ", absl::StripLeadingAsciiWhitespace(line));
      }
    }
    close();
    absl::StrAppend(&html, "</ul>\n");
  }
  return html;
}

}  // namespace mlafuzz
