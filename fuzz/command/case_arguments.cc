#include "fuzz/command/case_arguments.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/without_effect.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/command/environment.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

std::string OneLine(absl::string_view text) {
  return ShownLine(absl::StrReplaceAll(text, {{"\n", " "}}));
}

void ReadOne(const std::string& path, CaseArguments& all) {
  const std::string shown = ShownLine(ShownPath(path));
  const auto error = [&](absl::string_view what, absl::string_view way_out) {
    all.errors.push_back(
        absl::StrCat(shown, ": ", OneLine(what), "; ", way_out));
  };
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) {
    return error(bytes.status().message(), "is it readable?");
  }
  if (bytes->empty()) {
    return error("the file is empty", "a case has at least a pool and a step");
  }
  const auto c = ParseCase(*bytes);
  if (!c.ok()) {
    std::string what(c.status().message());
    if (!absl::StartsWith(what, "not a case")) what = "not a case: " + what;
    return error(what,
                 "compare with the stored cases in corpus/small, or replay "
                 "the file that the campaign wrote");
  }
  // Any bytes of nothing are a valid message; a program is what makes a case.
  if (c->steps_size() == 0) {
    return error("not a case: steps is empty", "a case has at least one step");
  }
  if (const auto image = BuildImage(*c); !image.ok()) {
    return error(image.status().message(), "change that field");
  }
  // Text is what somebody means.
  absl::string_view text = *bytes;
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  if (ParseCaseText(text).ok()) {
    if (const absl::Status s = RefuseWhatHasNoEffect(*c); !s.ok()) {
      return error(s.message(), "as it stands the case is another one");
    }
  }
  all.cases.push_back({shown, *c, bytes->size()});
}

// Whether it is what a campaign, or a person, puts beside cases.
bool StandsBeside(const std::string& file) {
  static constexpr const char* kNames[] = {
      "explanation.txt",    "cause.json", "repro.cc", "repro.cu",   "repro.py",
      "regression_test.cc", ".gitkeep",   "BUILD",    "BUILD.bazel"};
  const fs::path path(file);
  return path.extension() == ".md" ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return path.filename() == name; });
}

}  // namespace

CaseArguments ReadCaseArguments(const std::vector<std::string>& paths) {
  CaseArguments all;
  for (const std::string& typed : paths) {
    const std::string path = CallersPath(typed);
    std::error_code error;
    if (!fs::exists(path, error)) {
      all.errors.push_back(
          absl::StrCat(ShownLine(typed),
                       ": no such file or folder; a campaign's cases are in "
                       "mlafuzz-out/findings"));
      continue;
    }
    if (!fs::is_directory(path, error)) {
      ReadOne(path, all);
      continue;
    }
    std::vector<std::string> files;
    for (fs::recursive_directory_iterator it(path, error), end;
         !error && it != end; it.increment(error)) {
      // A link to nothing is no case, which ReadOne says.
      std::error_code ignored;
      if (it->is_regular_file(ignored) || !it->exists(ignored)) {
        files.push_back(it->path().string());
      }
    }
    if (error) {
      all.errors.push_back(absl::StrCat(
          ShownLine(typed), ": cannot list all of its files: ", error.message(),
          "; is it readable?"));
      continue;
    }
    if (files.empty()) {
      all.errors.push_back(absl::StrCat(
          ShownLine(typed),
          ": the folder holds no case; name a file, or a folder with "
          "*.txtpb or binary cases"));
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      if (StandsBeside(file)) continue;
      ReadOne(file, all);
    }
  }
  return all;
}

}  // namespace mlafuzz
