#include "fuzz/ledger/json.h"

#include <optional>

#include "absl/strings/str_join.h"
#include "fuzz/ledger/summary.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

Json Number(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json Interval(const Spread& spread) {
  return {{"low", Number(spread.low)},
          {"high", Number(spread.high)},
          {"coverage", spread.coverage}};
}

const char* WeaknessName(Weakness weakness) {
  switch (weakness) {
    case Weakness::kNone:
      return "none";
    case Weakness::kGenerator:
      return "generator";
    case Weakness::kOracle:
      return "oracle";
  }
  return "none";
}

Json SeedJson(const SeedRun& run) {
  Json json;
  json["seed"] = run.seed;
  json["reached"] = run.reached;
  json["triggered"] = run.triggered;
  json["detected"] = run.detected;
  json["inputs"] = run.inputs;
  json["cases"] = run.cases;
  if (!run.detected) return json;
  json["executions"] = run.executions;
  json["cpu_seconds"] = run.cpu_seconds;
  json["cause"] = CauseName(run.cause);
  json["kernel"] = run.kernel;
  json["property"] = run.property;
  json["key"] = run.key;
  if (!run.also.empty()) json["cause_may_be"] = run.also;
  json["settled_by"] = {{"alike", run.alike},
                        {"others", run.others},
                        {"contradicted", run.contradicted}};
  return json;
}

Json EngineJson(const EngineRuns& engine) {
  const EngineSummary s = Summarise(engine);
  Json json;
  json["engine"] = engine.engine;
  json["seeds"] = s.seeds;
  json["reached"] = s.reached;
  json["triggered"] = s.triggered;
  json["detected"] = s.detected;
  json["executions_median"] = Number(s.executions.median);
  json["executions_interval"] = Interval(s.executions);
  json["cpu_seconds_median"] = Number(s.cpu_seconds.median);
  json["cpu_seconds_interval"] = Interval(s.cpu_seconds);
  json["cause"] = CauseName(s.cause);
  json["causes"] = {
      {"right", s.right}, {"unknown", s.unknown}, {"wrong", s.wrong}};
  json["weak"] = WeaknessName(WeaknessOf(s));
  Json& runs = json["runs"] = Json::array();
  for (const SeedRun& run : engine.runs) runs.push_back(SeedJson(run));
  return json;
}

Json BaselineJson(const LedgerResult& result, const BaselineRow& row) {
  const Comparison c = Compare(result, row);
  Json json;
  json["id"] = row.id;
  json["controls_flagged"] = c.controls_flagged;
  json["controls"] = c.controls;
  json["mutants_killed"] = c.killed_by_baseline;
  json["mutants_run"] = c.mutants;
  json["mutants_applicable"] = c.applicable;
  json["killed_by_first_engine"] = c.killed_by_us;
  json["killed_by_first_engine_of_applicable"] = c.killed_by_us_applicable;
  json["both_kill"] = c.both;
  json["first_engine_first_or_tied"] = c.first_or_tied;
  json["killed_by_baseline_alone"] = c.only_baseline;
  json["baseline_faster"] = c.slower;
  Json& mutants = json["mutants"] = Json::array();
  const auto add = [](Json& to, const BaselineTarget& target) {
    std::size_t flagged = 0;
    Json why = Json::array();
    for (const BaselineRun& run : target.runs) {
      flagged += run.flagged ? 1 : 0;
      if (run.flagged) why.push_back(run.why);
    }
    Json one;
    one["id"] = target.target;
    one["applicable"] = Applies(target);
    one["killed"] = Killed(target);
    one["cpu_seconds_median"] = Number(CpuSecondsOf(target).median);
    one["seeds"] = target.runs.size();
    one["flagged"] = flagged;
    one["why"] = std::move(why);
    to.push_back(std::move(one));
  };
  for (const BaselineTarget& target : row.mutants) add(mutants, target);
  Json& controls = json["flagged_controls"] = Json::array();
  for (const BaselineTarget& target : row.controls) {
    bool flagged = false;
    for (const BaselineRun& run : target.runs) flagged |= run.flagged;
    if (flagged) add(controls, target);
  }
  return json;
}

}  // namespace

Json LedgerJson(const LedgerResult& result) {
  Json json;
  json["schema_version"] = 1;
  json["flavour"] = result.flavour;
  json["seeds"] = result.seeds;
  json["inputs"] = result.inputs;
  json["budget_cpu_seconds"] = result.budget_cpu_seconds;
  json["seconds"] = result.seconds;
  json["interrupted"] = result.interrupted;
  json["exit_code"] = LedgerExitCode(result);
  if (!result.errors.empty()) json["errors"] = result.errors;
  Json& mutants = json["mutants"] = Json::array();
  for (const MutantRow& row : result.mutants) {
    Json mutant;
    mutant["id"] = row.id;
    mutant["source"] = row.source;
    mutant["kernel"] = absl::StrJoin(row.kernels, "+");
    if (row.groups.has_value()) {
      mutant["groups"] = row.groups->size();
      mutant["groups_expected"] = row.kernels.size();
      mutant["group_causes"] = *row.groups;
    }
    Json& engines = mutant["engines"] = Json::array();
    for (const EngineRuns& engine : row.engines) {
      engines.push_back(EngineJson(engine));
    }
    mutants.push_back(std::move(mutant));
  }
  Json& controls = json["controls"] = Json::array();
  for (const ControlRow& row : result.controls) {
    Json control;
    control["id"] = row.id;
    control["cases"] = row.cases;
    control["false_alarms"] = row.false_alarms;
    if (!row.alarms.empty()) control["alarms"] = row.alarms;
    controls.push_back(std::move(control));
  }
  Json& baselines = json["baselines"] = Json::array();
  for (const BaselineRow& row : result.baselines) {
    baselines.push_back(BaselineJson(result, row));
  }
  return json;
}

}  // namespace mlafuzz
