#ifndef MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_
#define MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/state/records.h"
#include "fuzz/state/state.h"

namespace mlafuzz {

// A cause of failures of certain targets, with the smallest case of the state
// that fails by it.
struct Cause {
  FoundCase sample;
  std::string case_binary;
  std::uint64_t first_night = 0;
  std::string replay = "not run";  // "fails", "fails otherwise", "passes"
  std::string minimal_file;        // below the night's folder; empty: none
  std::string note;                // why not
};
// Targets as flags, key.
using CauseName = std::pair<std::string, std::string>;
CauseName NameOf(const FoundCase& found);
// Usable as a file name, and another for other targets.
std::string CauseId(const FoundCase& found);

// All causes of a state, by name. first_night is that of `known`, else `night`.
absl::StatusOr<std::map<CauseName, Cause>> CausesOf(
    const State& state, const std::map<CauseName, std::uint64_t>& known,
    std::uint64_t night);

// The causes that a night's report.json lists, with the nights that they were
// found in. Night 0 knew none. NotFound if there is no such report.
absl::StatusOr<std::map<CauseName, std::uint64_t>> KnownCausesOf(
    const std::string& state_path, std::uint64_t night);

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
  std::size_t regressions = 0;  // cases run
  std::vector<std::string> failed_regressions;
  std::string gate = "not run";  // "passed", "failed"
  std::vector<std::string> red;  // why it is, a sentence each
  int exit_code = 0;
};

// report.json, schema 1, and the same for people: what is new first.
nlohmann::ordered_json NightJson(const NightResult& result,
                                 const std::map<CauseName, Cause>& causes);
std::string NightText(const NightResult& result,
                      const std::map<CauseName, Cause>& causes);
// The lines of causes that are not of `known`.
std::string NewCausesText(const std::map<CauseName, Cause>& causes,
                          const std::map<CauseName, std::uint64_t>& known);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_NIGHTLY_NEWS_H_
