#include "fuzz/command/arguments.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

constexpr double kShortest = 0.1;
constexpr double kLongest = 8760 * 3600.0;

std::size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min(
          {row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& known) {
  std::string best;
  // Further away is no typing mistake.
  std::size_t distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : known) {
    const std::size_t d = EditDistance(word, candidate);
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

absl::StatusOr<Arguments> Arguments::Parse(
    const std::vector<std::string>& typed, const std::vector<Flag>& flags) {
  Arguments arguments;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (word == "--") {
      arguments.positional_.insert(arguments.positional_.end(),
                                   typed.begin() + i + 1, typed.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      arguments.positional_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name =
        word.substr(0, equals).substr(absl::StartsWith(word, "--") ? 2 : 1);
    const auto flag =
        std::find_if(flags.begin(), flags.end(),
                     [&name](const Flag& f) { return name == f.name; });
    if (flag == flags.end()) {
      std::vector<std::string> known;
      for (const Flag& f : flags) {
        if (!f.hidden) known.push_back(absl::StrCat("--", f.name));
      }
      const std::string near = Nearest(absl::StrCat("--", name), known);
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown flag ", word.substr(0, equals),
          near.empty() ? "; see --help" : absl::StrCat("; nearest: ", near)));
    }
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    if (flag->value == nullptr) {
      if (value.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " takes no value, got \"", *value, "\""));
      }
      arguments.flags_[name] = "";
      continue;
    }
    if (!value.has_value()) {
      if (i + 1 >= typed.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", name, " needs a value: --", name, "=", flag->value));
      }
      value = typed[++i];
    }
    if (value->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " is empty; it needs a value: --", name, "=",
                       flag->value));
    }
    arguments.flags_[name] = *value;
  }
  return arguments;
}

bool Arguments::Has(absl::string_view flag) const {
  return flags_.count(std::string(flag)) != 0;
}

std::string Arguments::Get(absl::string_view flag) const {
  const auto at = flags_.find(std::string(flag));
  return at == flags_.end() ? "" : at->second;
}

absl::StatusOr<std::uint64_t> Arguments::Number(absl::string_view flag,
                                                std::uint64_t fallback) const {
  if (!Has(flag)) return fallback;
  std::uint64_t number = 0;
  // SimpleAtoi takes blanks and a sign: digits only.
  const std::string text = Get(flag);
  if (text.empty() ||
      text.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, " needs a whole number below 2^64, got \"", text, "\""));
  }
  return number;
}

absl::StatusOr<double> Arguments::Seconds(absl::string_view flag,
                                          double fallback) const {
  if (!Has(flag)) return fallback;
  const auto seconds = ParseDuration(Get(flag));
  if (seconds.ok()) return seconds;
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": ", seconds.status().message()));
}

absl::StatusOr<double> ParseDuration(absl::string_view text) {
  const auto error = [text] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no duration; write 120s, 2m or 1h"));
  };
  double unit = 1;
  absl::string_view number = text;
  if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
    switch (text.back()) {
      case 's':
        break;
      case 'm':
        unit = 60;
        break;
      case 'h':
        unit = 3600;
        break;
      default:
        return error();
    }
    number.remove_suffix(1);
  }
  double value = 0;
  if (number.empty() ||
      number.find_first_not_of("0123456789.") != absl::string_view::npos ||
      !absl::SimpleAtod(number, &value) || !std::isfinite(value)) {
    return error();
  }
  value *= unit;
  if (value < kShortest || value > kLongest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is out of range; durations are 0.1s to 8760h"));
  }
  return value;
}

}  // namespace mlafuzz
