#include "corpus/contract_words.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

// The text is read line by line, as contract.proto is written: a declaration
// starts a line; its comment stands on the lines above it, or behind it and on
// lines that follow and hold nothing but comment in the
// same column.
namespace mlafuzz {
namespace {

constexpr char kText[] =
#include "corpus/contract_proto_text.inc"
    ;

struct Words {
  // "WriterContract/tail", "WriterContract/Tail", "WriterContract/Tail/
  // TAIL_ZERO"; a top-level enum's begin with its own name.
  std::map<std::string, std::string> comments;
  std::map<std::string, std::string> types;  // of fields, "Tail"
};

void Append(std::string& to, absl::string_view more) {
  absl::StrAppend(&to, to.empty() ? "" : " ", absl::StripAsciiWhitespace(more));
}

Words Read() {
  Words words;
  std::vector<std::string> scope;
  std::string above;
  std::string behind;         // key of the declaration that a comment may go on
  std::size_t behind_at = 0;  // where that comment begins in its line
  for (absl::string_view line : absl::StrSplit(kText, '\n')) {
    const std::size_t comment_at = line.find("//");
    line = absl::StripAsciiWhitespace(line);
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits("//", 1));
    const bool has_comment = absl::StrContains(line, "//");
    const std::vector<absl::string_view> code =
        absl::StrSplit(parts.first, absl::ByAnyChar(" ;"), absl::SkipEmpty());
    if (code.empty()) {
      if (has_comment) {
        if (comment_at != behind_at) behind.clear();
        Append(behind.empty() ? above : words.comments[behind], parts.second);
      } else {
        above.clear();
        behind.clear();
      }
      continue;
    }
    behind.clear();
    if (code[0] == "}") {
      if (!scope.empty()) scope.pop_back();
      above.clear();
      continue;
    }
    if ((code[0] == "message" || code[0] == "enum") && code.size() > 2) {
      scope.push_back(std::string(code[1]));
      words.comments[absl::StrJoin(scope, "/")] = std::exchange(above, "");
      continue;
    }
    // "[repeated] TYPE NAME = N" or "NAME = N".
    std::size_t equals = 0;
    while (equals < code.size() && code[equals] != "=") ++equals;
    if (equals == 0 || equals == code.size() || scope.empty()) {
      above.clear();
      continue;
    }
    const std::string key =
        absl::StrCat(absl::StrJoin(scope, "/"), "/", code[equals - 1]);
    if (equals >= 2) words.types[key] = std::string(code[equals - 2]);
    std::string& comment = words.comments[key];
    comment = std::exchange(above, "");
    if (has_comment) {
      Append(comment, parts.second);
      behind = key;
      behind_at = comment_at;
    }
  }
  return words;
}

const Words& AllWords() {
  static const Words* const words = new Words(Read());
  return *words;
}

std::string Find(const std::string& key) {
  const auto found = AllWords().comments.find(key);
  return found == AllWords().comments.end() ? "" : found->second;
}

// The enum of a field: nested in its message, or at the top.
std::string TypeKey(absl::string_view message, absl::string_view field) {
  const auto type = AllWords().types.find(absl::StrCat(message, "/", field));
  if (type == AllWords().types.end()) return "";
  const std::string nested = absl::StrCat(message, "/", type->second);
  return AllWords().comments.count(nested) > 0 ? nested : type->second;
}

}  // namespace

std::string FieldWords(absl::string_view message, absl::string_view field) {
  const std::string own = Find(absl::StrCat(message, "/", field));
  return own.empty() ? Find(TypeKey(message, field)) : own;
}

std::string ValueWords(absl::string_view message, absl::string_view field,
                       absl::string_view value) {
  return Find(absl::StrCat(TypeKey(message, field), "/", value));
}

}  // namespace mlafuzz
