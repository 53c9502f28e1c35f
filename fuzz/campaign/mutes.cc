#include "fuzz/campaign/mutes.h"

#include <chrono>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "corpus/codec.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

// A day of the calendar as YYYY-MM-DD, so that days compare as texts.
bool IsDay(absl::string_view text) {
  int year = 0, month = 0, day = 0;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  if (!absl::SimpleAtoi(text.substr(0, 4), &year) ||
      !absl::SimpleAtoi(text.substr(5, 2), &month) ||
      !absl::SimpleAtoi(text.substr(8, 2), &day)) {
    return false;
  }
  return std::chrono::year_month_day(
             std::chrono::year(year),
             std::chrono::month(static_cast<unsigned>(month)),
             std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

// The next word of `line`, which begins with `prefix`; empty if it does not.
std::string Take(absl::string_view prefix, absl::string_view* line) {
  *line = absl::StripLeadingAsciiWhitespace(*line);
  const std::size_t end = line->find_first_of(" \t");
  absl::string_view word = line->substr(0, end);
  if (!absl::ConsumePrefix(&word, prefix)) return "";
  *line = end == absl::string_view::npos ? "" : line->substr(end);
  return std::string(word);
}

}  // namespace

absl::StatusOr<std::vector<Mute>> ParseMutes(absl::string_view text,
                                             absl::string_view name,
                                             absl::string_view today) {
  std::vector<Mute> mutes;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat(ShownLine(name), ":", number, ": ", ShownLine(why)));
    };
    Mute mute;
    mute.key = Take("", &line);
    mute.until = Take("until=", &line);
    mute.owner = Take("owner=", &line);
    mute.note = std::string(absl::StripAsciiWhitespace(line));
    if (!absl::StrContains(mute.key, '/')) {
      return refuse(absl::StrCat("\"", mute.key,
                                 "\" is no cause; it is a finding's cause_key, "
                                 "as in writer/writer.tail=TAIL_UNCHANGED"));
    }
    if (mute.until.empty() || mute.owner.empty() || mute.note.empty()) {
      return refuse(
          absl::StrCat("the mute of ", mute.key,
                       " needs a day, an owner and a note, in this order: KEY "
                       "until=YYYY-MM-DD owner=NAME NOTE"));
    }
    if (!IsDay(mute.until)) {
      return refuse(absl::StrCat("the mute of ", mute.key, " ends on \"",
                                 mute.until, "\", which is no day YYYY-MM-DD"));
    }
    if (mute.until < today) {
      return refuse(absl::StrCat("the mute of ", mute.key, " ended on ",
                                 mute.until, " (", mute.owner, ": ", mute.note,
                                 "); give it another day, or take it out"));
    }
    if (FindMute(mutes, mute.key) != nullptr) {
      return refuse(absl::StrCat(mute.key, " is muted twice"));
    }
    mutes.push_back(mute);
  }
  return mutes;
}

absl::StatusOr<std::vector<Mute>> ReadMutes(const std::string& path,
                                            const std::string& shown) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseMutes(*text, shown, Today());
}

std::string Today() {
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return absl::StrFormat("%04d-%02u-%02u", static_cast<int>(day.year()),
                         static_cast<unsigned>(day.month()),
                         static_cast<unsigned>(day.day()));
}

const Mute* FindMute(const std::vector<Mute>& mutes, absl::string_view key) {
  for (const Mute& mute : mutes) {
    if (mute.key == key) return &mute;
  }
  return nullptr;
}

std::string MuteText(const Mute& mute) {
  return ShownLine(
      absl::StrCat(mute.owner, ", until ", mute.until, ": ", mute.note));
}

}  // namespace mlafuzz
