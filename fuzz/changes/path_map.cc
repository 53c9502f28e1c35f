#include "fuzz/changes/path_map.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "corpus/image.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

bool IsKernel(const std::string& name) {
  return std::any_of(kAllKernels.begin(), kAllKernels.end(),
                     [&](Kernel kernel) { return name == KernelName(kernel); });
}

}  // namespace

bool GlobMatches(absl::string_view glob, absl::string_view path) {
  // From each star on, how much of the path it takes is tried anew: the last
  // star of one kind is enough to go back to, but ** may take what * may not.
  if (glob.empty()) return path.empty();
  if (glob[0] == '*') {
    const bool folders = glob.size() > 1 && glob[1] == '*';
    absl::string_view rest = glob.substr(folders ? 2 : 1);
    // "a/**/b" is "a/b" too.
    if (folders && absl::ConsumePrefix(&rest, "/")) {
      if (GlobMatches(rest, path)) return true;
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '/' && GlobMatches(rest, path.substr(i + 1)))
          return true;
      }
      return false;
    }
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (GlobMatches(rest, path.substr(i))) return true;
      if (i < path.size() && path[i] == '/' && !folders) return false;
    }
    return false;
  }
  if (path.empty()) return false;
  if (glob[0] == '?' ? path[0] == '/' : glob[0] != path[0]) return false;
  return GlobMatches(glob.substr(1), path.substr(1));
}

absl::StatusOr<PathMap> PathMap::Parse(absl::string_view text) {
  PathMap map;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    const auto bad = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", what,
                       "; a rule is GLOB and then none, or of writer, gather, "
                       "convert, decode those that it is of, with commas"));
    };
    if (words.size() != 2) {
      return bad(absl::StrCat(words.size(), " words, not 2"));
    }
    // Each ** is a loop within the loops of those before.
    if (std::count(words[0].begin(), words[0].end(), '*') > 8) {
      return bad("more than 8 stars");
    }
    Rule rule{words[0], {}};
    if (words[1] != "none") {
      for (const absl::string_view kernel : absl::StrSplit(words[1], ',')) {
        rule.kernels.emplace_back(kernel);
        if (!IsKernel(rule.kernels.back())) {
          return bad(absl::StrCat("\"", ShownLine(kernel), "\" is no kernel"));
        }
      }
    }
    map.rules_.push_back(std::move(rule));
  }
  return map;
}

PathMap::Answer PathMap::KernelsOf(const std::string& path) const {
  Answer answer;
  for (const Rule& rule : rules_) {
    if (GlobMatches(rule.glob, path)) answer = {true, rule.kernels};
  }
  return answer;
}

Concerned KernelsConcerned(const PathMap& map,
                           const std::vector<std::string>& files,
                           const std::vector<std::string>& kernels) {
  std::set<std::string> concerned;
  Concerned result;
  for (const std::string& file : files) {
    const PathMap::Answer answer = map.KernelsOf(file);
    const std::vector<std::string>& of =
        answer.known ? answer.kernels : kernels;
    concerned.insert(of.begin(), of.end());
    result.lines.push_back(absl::StrCat(
        ShownLine(file), ": ",
        !answer.known
            ? absl::StrCat("cannot be told, so ", absl::StrJoin(kernels, ","))
        : of.empty() ? std::string("none")
                     : absl::StrJoin(of, ",")));
  }
  std::copy_if(kernels.begin(), kernels.end(),
               std::back_inserter(result.kernels),
               [&](const std::string& k) { return concerned.count(k) != 0; });
  return result;
}

}  // namespace mlafuzz
