#ifndef MLAFUZZ_FUZZ_CAMPAIGN_OUT_FOLDER_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_OUT_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace mlafuzz {

// The output folder of one campaign at a time. While this object lives, a
// locked file `.mlafuzz` in it ("PID COMMAND") keeps others out; the file stays
// and says that the folder is a campaign's.
//
//   * Held by a running campaign: refused, with its pid and command.
//   * What an earlier campaign left (findings, corpus, reports) moves to
//     `previous/`, which holds one generation.
//   * The same names in a folder that is no campaign's: refused. They are
//     somebody's own, a source tree's `corpus` say.
class OutFolder {
 public:
  // `path` is absolute, `shown` what the user typed. Makes missing folders.
  static absl::StatusOr<OutFolder> Claim(const std::string& path,
                                         const std::string& shown,
                                         const std::string& command);
  ~OutFolder();
  OutFolder(OutFolder&& other) noexcept
      : lock_(std::exchange(other.lock_, -1)),
        kept_previous_(other.kept_previous_) {}
  OutFolder& operator=(OutFolder&&) = delete;

  // Whether something was moved to `previous/`.
  bool kept_previous() const { return kept_previous_; }

 private:
  OutFolder(int lock, bool kept_previous)
      : lock_(lock), kept_previous_(kept_previous) {}
  int lock_;
  bool kept_previous_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_OUT_FOLDER_H_
