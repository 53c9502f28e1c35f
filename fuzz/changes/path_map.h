#ifndef MLAFUZZ_FUZZ_CHANGES_PATH_MAP_H_
#define MLAFUZZ_FUZZ_CHANGES_PATH_MAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// Which kernels a file of a repository is of, as its owner wrote it down:
//
//   # glob                kernels
//   docs/**               none
//   csrc/mla/writer*.cu   writer
//   csrc/mla/*.cuh        writer,gather
//
// A line a rule; the last that matches a path counts. * matches within a
// folder's name, ** across folders, ? one character; a glob is of the whole
// path. A file that no rule matches may be of any kernel: what is not written
// down is never left out.
class PathMap {
 public:
  // InvalidArgument with the line for what is no rule.
  static absl::StatusOr<PathMap> Parse(absl::string_view text);

  struct Answer {
    bool known = false;                // a rule matches
    std::vector<std::string> kernels;  // of a known file; empty: none
  };
  Answer KernelsOf(const std::string& path) const;

 private:
  struct Rule {
    std::string glob;
    std::vector<std::string> kernels;
  };
  std::vector<Rule> rules_;
};

// Whether `path` is what `glob` stands for.
bool GlobMatches(absl::string_view glob, absl::string_view path);

// Of `kernels` those that changes to `files` may concern, in their order, and a
// line for each file that says why; its name may hold any bytes and is shown
// escaped (ShownLine).
struct Concerned {
  std::vector<std::string> kernels;
  std::vector<std::string> lines;
};
Concerned KernelsConcerned(const PathMap& map,
                           const std::vector<std::string>& files,
                           const std::vector<std::string>& kernels);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CHANGES_PATH_MAP_H_
