#ifndef MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_
#define MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/campaign/lifecycle.h"
#include "fuzz/campaign/outcome.h"
#include "fuzz/state/records.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// What the morning makes of a cause.
enum class News {
  kNew,
  kBack,   // it was gone the night before
  kStill,  // known, and nothing says that it is gone
  kGone,   // its case passes, and tonight's units did not find it
};
// "new", "back", "still failing", "gone"
const char* NewsName(News news);

// What an earlier night said of a cause.
struct Known {
  std::uint64_t first_night = 0;
  bool gone = false;
  int passes = 0;  // nights in a row in which it was gone
};

// Where a cause stands after a night, as in an output folder
// (fuzz/campaign/lifecycle.h): crashing until it is gone, incubating until its
// cases have passed kPassesToRest nights in a row, and crashing again as soon
// as it fails. A night that judged no case of it, and found it not, leaves it
// where it was.
struct Standing {
  Stage stage = Stage::kCrashing;
  int passes = 0;
};

// A cause of failures of certain targets, with the smallest case of the state
// that fails by it.
struct Cause {
  FoundCase sample;
  std::string case_binary;
  // The next smallest that fail by it, kMoreExamples at most: one case that
  // passes does not make a cause gone.
  std::vector<std::string> more_cases;
  std::uint64_t first_night = 0;
  bool found_tonight = false;
  // "fails", "fails otherwise", "passes", "not run: WHY"
  std::string replay = "not run";
  std::string minimal_file;  // below the night's folder; empty: none
  std::string note;          // why not
};
inline constexpr std::size_t kMoreExamples = 7;
// Targets as flags, key.
using CauseName = std::pair<std::string, std::string>;
CauseName NameOf(const FoundCase& found);
// Usable as a file name, and another for other targets.
std::string CauseId(const FoundCase& found);

using Causes = std::map<CauseName, Cause>;
using KnownBefore = std::map<CauseName, Known>;

// What a run of a cause's case says of it, as in Cause::replay.
std::string ReplayText(const absl::StatusOr<Outcome>& outcome);
// Of two such that which says more against the kernel; none that did not run
// before one that did.
const std::string& WorseReplay(const std::string& a, const std::string& b);

// All causes of a state, by name. first_night is that of `known`, else `night`.
absl::StatusOr<Causes> CausesOf(const State& state, const KnownBefore& known,
                                std::uint64_t night);

// The causes that a night's report.json lists. Night 0 knew none. NotFound if
// there is no such report.
absl::StatusOr<KnownBefore> KnownCausesOf(const std::string& state_path,
                                          std::uint64_t night);

News NewsOf(const CauseName& name, const Cause& cause,
            const KnownBefore& known);
Standing StandingOf(const CauseName& name, const Cause& cause,
                    const KnownBefore& known);

// What a night did, beside its causes.
struct NightResult {
  struct Done {
    std::string targets;  // as flags
    std::uint64_t units = 0;
    std::uint64_t cases = 0;
    std::uint64_t informative = 0;  // checks
  };
  std::uint64_t night = 0;
  std::uint64_t since = 0;  // the night before; 0: none
  std::uint64_t epoch = 0;
  std::vector<Done> work;
  std::size_t regressions = 0;           // cases run
  std::size_t unjudged_regressions = 0;  // of them
  std::vector<std::string> failed_regressions;
  std::string gate = "not run";  // "passed", "failed"
  std::vector<std::string> red;  // why it is, a sentence each
  int exit_code = 0;
};

// report.json, schema 1, and the same for people: what is new first.
nlohmann::ordered_json NightJson(const NightResult& result,
                                 const Causes& causes,
                                 const KnownBefore& known);
std::string NightText(const NightResult& result, const Causes& causes,
                      const KnownBefore& known);
// What has changed between two nights: the lines of causes that `then` did not
// know, that it had gone and `now` has not, and that `now` alone has gone.
// `now` may lack those that came after its night.
struct Changes {
  std::string fresh, back, gone;
};
Changes ChangesSince(const Causes& causes, const KnownBefore& then,
                     const KnownBefore& now);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_
