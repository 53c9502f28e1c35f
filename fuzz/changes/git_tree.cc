#include "fuzz/changes/git_tree.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/scratch_folder.h"

namespace mlafuzz {
namespace {

// Standard output of `git -C folder arguments...`; what it complains of as the
// error's message.
absl::StatusOr<std::string> Git(const std::string& folder,
                                const std::vector<std::string>& arguments) {
  auto scratch = ScratchFolder::Create();
  if (!scratch.ok()) return scratch.status();
  const std::string complaints = scratch->path() + "/stderr";
  // No lock on somebody's index, no question, no pager.
  std::string line = absl::StrCat(
      "GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 git -C ", ShellWord(folder));
  for (const std::string& argument : arguments) {
    absl::StrAppend(&line, " ", ShellWord(argument));
  }
  absl::StrAppend(&line, " 2> ", ShellWord(complaints), " < /dev/null");
  std::FILE* pipe = popen(line.c_str(), "re");
  if (pipe == nullptr) {
    return absl::UnavailableError("cannot start a shell to run git in");
  }
  std::string out;
  char block[1 << 14];
  std::size_t n = 0;
  while ((n = std::fread(block, 1, sizeof(block), pipe)) > 0) {
    out.append(block, n);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return absl::UnavailableError("there is no git here; install it");
  }
  const auto said = ReadFile(complaints);
  return absl::InvalidArgumentError(absl::StrCat(
      "git ", arguments[0], ": ",
      said.ok() ? ShownLine(absl::StripAsciiWhitespace(*said)) : "failed"));
}

std::vector<std::string> Names(const std::string& zero_ended) {
  return absl::StrSplit(zero_ended, '\0', absl::SkipEmpty());
}

}  // namespace

absl::StatusOr<GitTree> GitTree::Open(const std::string& folder,
                                      const std::string& revision) {
  GitTree tree;
  tree.revision_ = revision;
  const auto top = Git(folder, {"rev-parse", "--show-toplevel"});
  if (absl::IsUnavailable(top.status())) return top.status();
  if (!top.ok()) {
    return absl::UnavailableError(absl::StrCat(
        folder, " is in no work tree of Git: ", top.status().message()));
  }
  tree.top_ = std::string(absl::StripTrailingAsciiWhitespace(*top));
  const auto commit =
      Git(tree.top_, {"rev-parse", "--verify", "--quiet", "--end-of-options",
                      absl::StrCat(revision, "^{commit}")});
  if (!commit.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", ShownLine(revision),
        "\" is no commit of this clone; fetch it (in GitHub Actions: "
        "fetch-depth: 0), or name another"));
  }
  tree.commit_ = std::string(absl::StripTrailingAsciiWhitespace(*commit));
  // Fails where there is none, or no HEAD yet.
  const auto fork = Git(tree.top_, {"merge-base", tree.commit_, "HEAD"});
  if (fork.ok()) {
    tree.fork_ = std::string(absl::StripTrailingAsciiWhitespace(*fork));
  }
  return tree;
}

absl::StatusOr<std::vector<std::string>> GitTree::Changed() const {
  const auto known = Git(top_, {"diff", "--name-only", "--no-renames", "-z",
                                fork_.empty() ? commit_ : fork_, "--"});
  if (!known.ok()) return known.status();
  const auto others =
      Git(top_, {"ls-files", "--others", "--exclude-standard", "-z"});
  if (!others.ok()) return others.status();
  std::set<std::string> all;
  for (const std::string& list : {*known, *others}) {
    for (std::string& name : Names(list)) all.insert(std::move(name));
  }
  return std::vector<std::string>(all.begin(), all.end());
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
GitTree::FilesAt(const std::string& folder) const {
  const auto list = Git(top_, {"ls-tree", "-r", "-z", "--name-only",
                               "--full-tree", commit_, "--", folder});
  if (!list.ok()) return list.status();
  std::vector<std::pair<std::string, std::string>> files;
  for (std::string& name : Names(*list)) {
    auto bytes =
        Git(top_, {"cat-file", "blob", absl::StrCat(commit_, ":", name)});
    if (!bytes.ok()) return bytes.status();
    files.emplace_back(std::move(name), *std::move(bytes));
  }
  return files;
}

}  // namespace mlafuzz
