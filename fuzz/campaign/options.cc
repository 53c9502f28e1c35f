#include "fuzz/campaign/options.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mlafuzz {
namespace {

std::vector<std::pair<const char*, std::string>> Overrides(
    const Targets& targets) {
  std::vector<std::pair<const char*, std::string>> all;
  const auto add = [&all](const char* kernel, const std::string& target) {
    if (!target.empty()) all.push_back({kernel, target});
  };
  add("writer", targets.writer());
  add("gather", targets.gather());
  add("convert", targets.convert());
  add("decode", targets.decode());
  return all;
}

}  // namespace

std::string TargetsText(const Targets& targets) {
  std::string text = targets.all().empty() ? "builtin" : targets.all();
  for (const auto& [kernel, target] : Overrides(targets)) {
    absl::StrAppend(&text, " ", kernel, "=", target);
  }
  return text;
}

std::string TargetsFlags(const Targets& targets) {
  std::string text = absl::StrCat(
      "--target=",
      ShellWord(targets.all().empty() ? "builtin" : targets.all()));
  for (const auto& [kernel, target] : Overrides(targets)) {
    absl::StrAppend(&text, " --", kernel, "=", ShellWord(target));
  }
  return text + RunnerFlags(targets);
}

std::string RunnerFlags(const Targets& targets) {
  std::string text;
  if (targets.call_seconds() > 0) {
    absl::StrAppend(&text,
                    " --call-timeout=", DurationText(targets.call_seconds()));
  }
  if (targets.start_seconds() > 0) {
    absl::StrAppend(&text,
                    " --start-timeout=", DurationText(targets.start_seconds()));
  }
  if (targets.resident_mib() > 0) {
    absl::StrAppend(&text, " --memory-limit=", targets.resident_mib());
  }
  if (!targets.python().empty()) {
    absl::StrAppend(&text, " --python=", ShellWord(targets.python()));
  }
  if (targets.device() != 0) {
    absl::StrAppend(&text, " --device=", targets.device());
  }
  if (!targets.guard().empty()) {
    absl::StrAppend(&text, " --guard=", targets.guard());
  }
  return text;
}

double SecondsLeft(const CampaignOptions& options) {
  using Clock = std::chrono::steady_clock;
  if (options.limits.until == Clock::time_point::max()) return 1e9;
  return std::chrono::duration<double>(options.limits.until - Clock::now())
      .count();
}

std::string ShellWord(const std::string& word) {
  const bool plain =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               absl::StrContains("_-./:=+,@%", c);
      });
  if (plain) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string DurationText(double seconds) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, seconds,
                                 std::chars_format::fixed);
  return absl::StrCat(
      absl::string_view(text, static_cast<std::size_t>(end.ptr - text)), "s");
}

}  // namespace mlafuzz
