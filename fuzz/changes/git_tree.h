#ifndef MLAFUZZ_FUZZ_CHANGES_GIT_TREE_H_
#define MLAFUZZ_FUZZ_CHANGES_GIT_TREE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mlafuzz {

// A work tree of Git and a revision that it is compared with. Runs `git` of
// $PATH, which must know --end-of-options (2.24).
class GitTree {
 public:
  // Of the work tree that `folder` lies in. Unavailable without git or outside
  // of a work tree, InvalidArgument for what is no commit of this clone; both
  // name the way out.
  static absl::StatusOr<GitTree> Open(const std::string& folder,
                                      const std::string& revision);

  const std::string& top() const { return top_; }            // absolute
  const std::string& revision() const { return revision_; }  // as typed
  const std::string& commit() const { return commit_; }      // its full id
  // The newest commit that it and HEAD have in common: what changed since is
  // what HEAD's side did. Empty: there is none in this clone.
  const std::string& fork() const { return fork_; }

  // Paths below top() that differ between the fork (without one: the revision)
  // and the work tree, those that Git does not know yet included, ignored ones
  // not. Sorted.
  absl::StatusOr<std::vector<std::string>> Changed() const;

  // Files below `folder` (below top()) at the revision: path, bytes. None if it
  // was not there.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> FilesAt(
      const std::string& folder) const;

 private:
  std::string top_;
  std::string revision_;
  std::string commit_;
  std::string fork_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CHANGES_GIT_TREE_H_
