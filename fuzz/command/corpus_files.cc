#include "fuzz/command/corpus_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

// A few names are a hint; all of them would bury what comes next.
constexpr std::size_t kNamed = 3;

// Empty for a usable case.
std::string WhyBad(const std::string& path) {
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) return "cannot be read";
  if (bytes->empty()) return "is empty";
  const auto c = ParseCase(*bytes);
  if (!c.ok()) return std::string(c.status().message());
  if (c->steps_size() == 0) return "has no steps";
  if (const auto image = BuildImage(*c); !image.ok()) {
    return std::string(image.status().message());
  }
  if (bytes->size() > kMaxInputBytes) {
    return absl::StrCat(bytes->size(), " bytes are more than the engine's ",
                        kMaxInputBytes);
  }
  return "";
}

}  // namespace

CorpusFiles ReadCorpusFiles(const std::string& folder) {
  CorpusFiles all;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    ++all.files;
    if (std::string why = WhyBad(it->path().string()); !why.empty()) {
      all.bad.push_back(
          {ShownLine(it->path().lexically_relative(folder).string()),
           ShownLine(absl::StrReplaceAll(why, {{"\n", " "}}))});
    } else {
      all.good.push_back(it->path().string());
    }
  }
  std::sort(all.good.begin(), all.good.end());
  std::sort(all.bad.begin(), all.bad.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::string BadFilesText(const CorpusFiles& files) {
  std::string text;
  const std::size_t named = std::min(kNamed, files.bad.size());
  for (std::size_t i = 0; i < named; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", files.bad[i].name, " (",
                    files.bad[i].why, ")");
  }
  if (files.bad.size() > named) {
    absl::StrAppend(&text, " and ", files.bad.size() - named, " more");
  }
  return text;
}

}  // namespace mlafuzz
