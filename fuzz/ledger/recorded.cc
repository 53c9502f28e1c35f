#include "fuzz/ledger/recorded.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fuzz/ledger/summary.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::optional<CauseVerdict> CauseNamed(const std::string& name) {
  for (const CauseVerdict cause :
       {CauseVerdict::kRight, CauseVerdict::kUnknown, CauseVerdict::kWrong}) {
    if (name == CauseName(cause)) return cause;
  }
  return std::nullopt;
}

RecordedKill Of(const std::string& mutant, const EngineRuns& engine) {
  RecordedKill kill;
  kill.mutant = mutant;
  kill.engine = engine.engine;
  for (const SeedRun& run : engine.runs) {
    if (run.detected) {
      kill.executions.push_back(run.executions);
    } else {
      ++kill.missed;
    }
  }
  std::sort(kill.executions.begin(), kill.executions.end());
  kill.cause = Summarise(engine).cause;
  return kill;
}

const RecordedKill* Find(const std::vector<RecordedKill>& kills,
                         const std::string& mutant, const std::string& engine) {
  for (const RecordedKill& kill : kills) {
    if (kill.mutant == mutant && kill.engine == engine) return &kill;
  }
  return nullptr;
}

void CompareKills(const RecordedKill& now, const RecordedKill& then,
                  std::vector<std::string>* problems) {
  const std::string who = absl::StrCat(now.mutant, " under ", now.engine);
  if (now.missed > 0 && then.missed == 0) {
    problems->push_back(absl::StrCat(who, ": missed by ", now.missed,
                                     " seeds, by none of the ",
                                     then.executions.size(), " recorded"));
  }
  if (now.missed == 0 && now.executions.empty()) return;
  if (!then.executions.empty()) {
    const std::string interval = absl::StrCat(
        "; recorded ", then.executions.front(), " .. ", then.executions.back());
    // A seed that missed it would have taken more than any.
    if (then.missed == 0 && (now.executions.empty() ||
                             now.executions.front() > then.executions.back())) {
      problems->push_back(
          absl::StrCat(who, ": later than recorded: calls to kill ",
                       absl::StrJoin(now.executions, ", "), interval));
    }
    if (now.missed == 0 && now.executions.back() < then.executions.front()) {
      problems->push_back(
          absl::StrCat(who, ": sooner than recorded (record it anew): calls ",
                       absl::StrJoin(now.executions, ", "), interval));
    }
  }
  if (now.executions.empty()) return;
  if (now.cause == CauseVerdict::kWrong ||
      (now.cause == CauseVerdict::kUnknown &&
       then.cause == CauseVerdict::kRight)) {
    problems->push_back(absl::StrCat(who, ": the cause is ",
                                     CauseName(now.cause), ", recorded ",
                                     CauseName(then.cause)));
  }
}

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "no record of kills: ", what,
      "; make it anew with `mlafuzz ledger --core --seeds=20 --record=FILE`"));
}

}  // namespace

std::vector<RecordedKill> Record(const LedgerResult& result) {
  std::vector<RecordedKill> kills;
  for (const MutantRow& row : result.mutants) {
    for (const EngineRuns& engine : row.engines) {
      kills.push_back(Of(row.id, engine));
    }
  }
  return kills;
}

std::string FormatRecorded(const std::vector<RecordedKill>& kills,
                           const std::string& command) {
  std::string text = absl::StrCat("{\"schema_version\": 1,\n\"made_by\": ",
                                  Json(command).dump(), ",\n\"kills\": [\n");
  for (const RecordedKill& kill : kills) {
    Json json;
    json["mutant"] = kill.mutant;
    json["engine"] = kill.engine;
    json["cause"] = CauseName(kill.cause);
    json["missed"] = kill.missed;
    json["executions"] = kill.executions;
    absl::StrAppend(&text, json.dump(), &kill == &kills.back() ? "\n" : ",\n");
  }
  absl::StrAppend(&text, "]}\n");
  return text;
}

absl::StatusOr<std::vector<RecordedKill>> ParseRecorded(
    absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kills") ||
      !json["kills"].is_array()) {
    return Bad("no list called \"kills\"");
  }
  std::vector<RecordedKill> kills;
  for (const Json& entry : json["kills"]) {
    const auto has = [&entry](const char* name, auto is) {
      return entry.is_object() && entry.contains(name) && is(entry[name]);
    };
    const auto text_of = [](const Json& j) { return j.is_string(); };
    const auto number = [](const Json& j) { return j.is_number_unsigned(); };
    const auto numbers = [&number](const Json& j) {
      return j.is_array() && std::all_of(j.begin(), j.end(), number);
    };
    if (!has("mutant", text_of) || !has("engine", text_of) ||
        !has("cause", text_of) || !has("missed", number) ||
        !has("executions", numbers)) {
      return Bad(absl::StrCat("entry ", kills.size(), " lacks a member"));
    }
    RecordedKill kill;
    kill.mutant = entry["mutant"].get<std::string>();
    kill.engine = entry["engine"].get<std::string>();
    kill.missed = entry["missed"].get<std::size_t>();
    kill.executions = entry["executions"].get<std::vector<std::uint64_t>>();
    std::sort(kill.executions.begin(), kill.executions.end());
    const auto cause = CauseNamed(entry["cause"].get<std::string>());
    if (!cause.has_value()) {
      return Bad(absl::StrCat("entry ", kills.size(), " has no such cause"));
    }
    kill.cause = *cause;
    kills.push_back(std::move(kill));
  }
  return kills;
}

std::vector<std::string> GateProblems(const LedgerResult& result,
                                      const std::vector<RecordedKill>& kills) {
  std::vector<std::string> problems;
  const std::vector<RecordedKill> now = Record(result);
  for (const RecordedKill& kill : now) {
    const RecordedKill* then = Find(kills, kill.mutant, kill.engine);
    if (then == nullptr) {
      problems.push_back(
          absl::StrCat(kill.mutant, " under ", kill.engine, ": not recorded"));
      continue;
    }
    CompareKills(kill, *then, &problems);
  }
  for (const RecordedKill& then : kills) {
    const bool measured = std::any_of(
        result.mutants.begin(), result.mutants.end(),
        [&](const MutantRow& row) { return row.id == then.mutant; });
    if (measured && Find(now, then.mutant, then.engine) == nullptr) {
      problems.push_back(absl::StrCat(then.mutant, " under ", then.engine,
                                      ": recorded, not measured"));
    }
  }
  for (const ControlRow& row : result.controls) {
    if (row.false_alarms == 0) continue;
    problems.push_back(absl::StrCat(
        row.id, ": ", row.false_alarms,
        " false alarms: ", row.alarms.empty() ? "" : row.alarms[0]));
  }
  return problems;
}

}  // namespace mlafuzz
