#include "fuzz/ledger/baselines.h"

#include <string.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/process.h"
#include "fuzz/campaign/signals.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

// A right suite on a crowded machine waits for its turn; one that waits this
// much longer than it may work waits for nothing.
constexpr double kIdleFactor = 10;

struct Ending {
  std::optional<Exit> exit;  // nothing: it hung
  std::string output;
  double cpu_seconds = 0;
};

absl::StatusOr<Ending> RunToEnd(const std::vector<std::string>& arguments,
                                double timeout_seconds) {
  auto process = Process::Spawn(arguments, {});
  if (!process.ok()) return process.status();
  const auto start = Clock::now();
  for (;;) {
    (*process)->ReadOutput();
    Ending ending;
    ending.exit = (*process)->Poll();
    ending.cpu_seconds =
        1e-9 * static_cast<double>((*process)->CpuNanoseconds());
    const bool late =
        ending.cpu_seconds >= timeout_seconds ||
        std::chrono::duration<double>(Clock::now() - start).count() >=
            kIdleFactor * timeout_seconds;
    if (ending.exit.has_value() || late) {
      ending.output = (*process)->output();
      return ending;
    }
    if (StopSignals() > 0) return absl::CancelledError("stopped by a signal");
    usleep(2000);
  }
}

// What `ending` alone says; empty: it ended well.
std::string Red(const Ending& ending, double timeout_seconds) {
  if (!ending.exit.has_value()) {
    return absl::StrCat("hung: no end after ", timeout_seconds, " s");
  }
  if (ending.exit->signal != 0) {
    return absl::StrCat("killed by SIG", sigabbrev_np(ending.exit->signal));
  }
  if (ending.exit->code != 0) {
    return absl::StrCat("exited with code ", ending.exit->code);
  }
  return "";
}

// The last line that is an object in which `is_it` holds.
template <typename IsIt>
std::optional<Json> LineOf(const std::string& output, IsIt is_it) {
  std::optional<Json> found;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    Json json = Json::parse(line.begin(), line.end(), nullptr,
                            /*allow_exceptions=*/false);
    if (json.is_object() && is_it(json)) found = std::move(json);
  }
  return found;
}

bool HasVerdict(const Json& json) {
  return json.contains("flagged") && json["flagged"].is_boolean();
}

double NumberOf(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_number()
             ? json[name].get<double>()
             : 0;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListBaselines(
    const std::string& program) {
  constexpr double kListSeconds = 60;
  const auto ending = RunToEnd({program, "--list"}, kListSeconds);
  if (!ending.ok()) return ending.status();
  if (const std::string red = Red(*ending, kListSeconds); !red.empty()) {
    return absl::UnavailableError(
        absl::StrCat(program, " --list ", red, ": ", ending->output));
  }
  std::vector<std::string> ids;
  for (const absl::string_view line : absl::StrSplit(ending->output, '\n')) {
    const Json json = Json::parse(line.begin(), line.end(), nullptr,
                                  /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("baseline") &&
        json["baseline"].is_string()) {
      ids.push_back(json["baseline"].get<std::string>());
    }
  }
  if (ids.empty()) {
    return absl::DataLossError(
        absl::StrCat(program, " --list names no baseline"));
  }
  return ids;
}

absl::StatusOr<BaselineRun> RunBaseline(const std::string& program,
                                        const std::string& baseline,
                                        const std::string& target,
                                        std::uint64_t seed,
                                        double timeout_seconds) {
  const auto ending = RunToEnd(
      {program, absl::StrCat("--baseline=", baseline),
       absl::StrCat("--target=", target), absl::StrCat("--seed=", seed)},
      timeout_seconds);
  if (!ending.ok()) return ending.status();
  BaselineRun run;
  run.seed = seed;
  const std::optional<Json> line = LineOf(ending->output, HasVerdict);
  if (std::string red = Red(*ending, timeout_seconds); !red.empty()) {
    run.flagged = true;
    run.why = std::move(red);
    run.cpu_seconds = ending->cpu_seconds;
    return run;
  }
  if (!line.has_value()) {
    return absl::DataLossError(absl::StrCat(
        program, " --baseline=", baseline, " --target=", target,
        " ended well without a line of JSON that has \"flagged\""));
  }
  run.flagged = (*line)["flagged"].get<bool>();
  run.applicable = line->value("applicable", true);
  if (line->contains("why") && (*line)["why"].is_string()) {
    run.why = (*line)["why"].get<std::string>();
  }
  run.cases = static_cast<std::uint64_t>(NumberOf(*line, "cases"));
  run.cpu_seconds = NumberOf(*line, "cpu_seconds");
  return run;
}

}  // namespace mlafuzz
