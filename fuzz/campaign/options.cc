#include "fuzz/campaign/options.h"

#include <utility>

#include "absl/strings/str_cat.h"

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
      "--target=", targets.all().empty() ? "builtin" : targets.all());
  for (const auto& [kernel, target] : Overrides(targets)) {
    absl::StrAppend(&text, " --", kernel, "=", target);
  }
  return text;
}

}  // namespace mlafuzz
