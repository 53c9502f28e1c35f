#ifndef MLAFUZZ_FUZZ_COMMAND_ARGUMENTS_H_
#define MLAFUZZ_FUZZ_COMMAND_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// One flag of a command.
struct Flag {
  const char* name;     // "time"
  const char* value;    // "120s|2m|1h"; null: takes none
  const char* what;     // one line
  bool hidden = false;  // not in --help
};

// What was typed after a command's name.
class Arguments {
 public:
  // "--name=value", "--name value" or "--name"; the rest is positional, all of
  // it after "--". InvalidArgument for what is not in `flags`, naming the
  // nearest that is.
  static absl::StatusOr<Arguments> Parse(const std::vector<std::string>& typed,
                                         const std::vector<Flag>& flags);

  bool Has(absl::string_view flag) const;
  // Empty if not given. The last one counts.
  std::string Get(absl::string_view flag) const;
  // `fallback` if not given; InvalidArgument for anything but digits.
  absl::StatusOr<std::uint64_t> Number(absl::string_view flag,
                                       std::uint64_t fallback) const;
  // `fallback` if not given; InvalidArgument, naming the flag, for what
  // ParseDuration does not take.
  absl::StatusOr<double> Seconds(absl::string_view flag, double fallback) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  std::map<std::string, std::string> flags_;
  std::vector<std::string> positional_;
};

// The nearest of `known` by edit distance, empty if none is near.
std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& known);

// "120s", "2m", "1h", "1.5h", "90" (seconds), in seconds: 0.1 s to 8760h, a
// year. Shorter ones would end a right call on a busy machine.
absl::StatusOr<double> ParseDuration(absl::string_view text);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_ARGUMENTS_H_
