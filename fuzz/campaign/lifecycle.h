#ifndef MLAFUZZ_FUZZ_CAMPAIGN_LIFECYCLE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_LIFECYCLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fuzz/campaign/outcome.h"

namespace mlafuzz {

// What an output folder knows of causes, from campaign to campaign: a folder a
// cause, in one of
//
//     crashing/ID     it fails
//     incubating/ID   its cases pass, since less than kPassesToRest campaigns
//     regression/ID   it is gone; its cases must go on passing
//
// with cause.json and examples/HASH.txtpb, every case that was seen to fail by
// it. A cause moves on by itself, and back as soon as it fails again. Folders
// move by one rename, files are written whole or not at all.
enum class Stage { kCrashing, kIncubating, kRegression };
// "crashing", ...
const char* StageName(Stage stage);

inline constexpr int kPassesToRest = 3;

struct KnownCause {
  std::string id;  // of its folder
  std::string key;
  std::string kernel;
  std::string cause;                    // a sentence
  std::string targets;                  // as flags
  std::string first_seen, last_failed;  // days, UTC
  int passes = 0;  // campaigns in a row in which it did not fail
  Stage stage = Stage::kCrashing;
  std::uint64_t examples = 0;
  // What this campaign made of it: "new", "still failing", "back", the latter
  // two with " (fails otherwise)" where its examples fail, but by other causes;
  // "passes", "gone", or "not run: WHY".
  std::string news;
  std::string muted;  // by whom, until when and why (by the caller)

  // What `news` begins with.
  bool still_fails() const;
  bool is_back() const;
};

// What a campaign saw fail: a cause and its cases, the smallest first.
struct SeenCause {
  std::string key;
  std::string kernel;
  std::string cause;
  std::vector<std::string> cases;  // binary
};

class Lifecycle {
 public:
  // What is there in the folder `out`. What an end in between has left over is
  // removed. DataLoss names a cause.json that is none and the way out.
  static absl::StatusOr<Lifecycle> Open(const std::string& out);

  // What a case says of the cause now. FailedPrecondition: nothing, but others
  // may; any other error ends the look at this cause.
  using Run = std::function<absl::StatusOr<Outcome>(
      const std::string& case_binary, const KnownCause& cause)>;
  // Runs the examples of the causes of these targets, of each the smallest
  // first until one fails by it. A cause passes where some example was judged
  // and none fails in any way. Those of other targets stay as they are.
  void Probe(const std::string& targets, const Run& run);
  // Takes in what a campaign on `targets` saw on `today`; what it did not see
  // moves by what Probe() said. Unavailable if a file cannot be written: what
  // is not yet moved stays where it was.
  absl::Status Update(const std::string& targets, const std::string& today,
                      const std::vector<SeenCause>& seen);

  const std::vector<KnownCause>& causes() const { return causes_; }
  // What Probe() could not look at, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  explicit Lifecycle(std::string out) : out_(std::move(out)) {}

  std::string FolderOf(const KnownCause& cause) const;
  absl::Status Write(const KnownCause& cause, const std::string& folder) const;
  absl::Status Move(KnownCause& cause, Stage stage);
  absl::Status Take(const std::string& targets, const std::string& today,
                    const SeenCause& seen);
  absl::Status Settle(KnownCause& cause, const std::string& today);

  std::string out_;
  std::vector<KnownCause> causes_;  // by id
  std::vector<std::string> notes_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_LIFECYCLE_H_
