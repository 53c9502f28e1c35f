#ifndef MLAFUZZ_FUZZ_CAMPAIGN_MUTES_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_MUTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// A cause that somebody knows, answers for, and is not to be called about
// before a day.
struct Mute {
  std::string key;    // a cause's, "writer/writer.tail=TAIL_UNCHANGED"
  std::string until;  // the last day, "2026-12-31"
  std::string owner;
  std::string note;
};

// A line a mute, what it is about last:
//
//     KEY until=YYYY-MM-DD owner=NAME NOTE...
//
// Lines that are empty or begin with '#' say nothing. InvalidArgument names
// `name` and the line that is none: without a day of the calendar, an owner or
// a note, of a key that has one already, or of a day that is over on `today`
// ("2026-11-30", UTC): a mute does not outlive its day unseen.
absl::StatusOr<std::vector<Mute>> ParseMutes(absl::string_view text,
                                             absl::string_view name,
                                             absl::string_view today);
// The same of a file. NotFound, or what is wrong with it.
absl::StatusOr<std::vector<Mute>> ReadMutes(const std::string& path,
                                            const std::string& shown);

// "2026-11-30", UTC.
std::string Today();

// That of `key`; null: none.
const Mute* FindMute(const std::vector<Mute>& mutes, absl::string_view key);
// "alice, until 2026-12-31: the note"
std::string MuteText(const Mute& mute);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_MUTES_H_
