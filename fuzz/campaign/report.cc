#include "fuzz/campaign/report.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/knobs.h"
#include "fuzz/campaign/case_files.h"
#include "fuzz/campaign/report/junit.h"
#include "fuzz/campaign/report/page.h"
#include "fuzz/campaign/report/sarif.h"
#include "fuzz/campaign/report/step_summary.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/ulps.h"
#include "properties/fields.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

std::size_t Index(Kernel kernel) { return static_cast<std::size_t>(kernel); }

bool UnderTest(const CampaignOptions& options, Kernel kernel) {
  return std::find(options.kernels.begin(), options.kernels.end(),
                   KernelName(kernel)) != options.kernels.end();
}

std::string CaseText(const std::string& binary) {
  const auto c = ParseCaseBinary(binary);
  return c.ok() ? FormatCaseText(*c) : "";
}

Json FindingJson(const CampaignOptions& options, const Finding& finding) {
  const Failure& f = finding.failure;
  Json json;
  json["id"] = finding.id;
  json["kernel"] = f.kernel();
  json["property"] = f.property();
  json["field"] = f.field();
  json["cause"] = f.cause();
  json["cause_key"] = f.key();
  json["cause_may_be"] =
      std::vector<std::string>(f.also().begin(), f.also().end());
  json["verdict"] = f.verdict();
  json["detail"] = f.detail();
  json["case"] = finding.case_file;
  json["minimal_case"] = finding.minimal_file;
  json["minimal_text"] = CaseText(finding.minimal_binary);
  // Of one that is not minimised, as it was found.
  json["case_text"] =
      CaseText(finding.minimal_binary.empty() ? finding.case_binary
                                              : finding.minimal_binary);
  json["executions_to_find"] = finding.executions_to_find;
  json["cases_to_find"] = finding.cases_to_find;
  json["seconds_to_find"] = finding.seconds_to_find;
  json["earlier_calls"] = finding.earlier_calls;
  json["reruns"] = finding.reruns;
  json["reruns_failed_alike"] = finding.same;
  json["repeats"] = finding.repeats;
  json["note"] = finding.note;
  json["muted"] = finding.muted;
  if (!finding.known.empty()) json["known"] = finding.known;
  json["shapes"] = Json::array();
  for (const Finding::Shape& shape : finding.shapes) {
    json["shapes"].push_back({{"cause_key", shape.key},
                              {"property", shape.property},
                              {"cause", shape.cause},
                              {"case", shape.case_file}});
  }
  json["evidence_note"] = finding.evidence_note;
  json["reproducers"] = Json::array();
  for (const Finding::Reproducer& r : finding.reproducers) {
    json["reproducers"].push_back(
        {{"path", r.path},
         {"kind", r.kind},
         {"verified", r.verified},
         {"reliability", {{"failed", r.failed}, {"runs", r.runs}}},
         {"compiler", r.compiler},
         {"words", r.words}});
  }
  json["replay"] = ReplayCommand(options, finding);
  return json;
}

Json PowerJson(const Totals& totals, Layout layout) {
  Json power = Json::object();
  const std::vector<Field>& fields = AllFields();
  for (std::size_t i = 0; i < fields.size() && i < kMaxFields; ++i) {
    if (!IsExpected(layout, fields[i].name, totals.power[i] > 0)) continue;
    const std::uint64_t steps = totals.power_steps[Index(fields[i].kernel)];
    if (steps == 0) continue;
    power[fields[i].name] =
        static_cast<double>(totals.power[i]) / static_cast<double>(steps);
  }
  return power;
}

// One entry a field: what the campaign saw, and where it steered.
Json PowerTableJson(const Totals& totals, Layout layout) {
  Json table = Json::array();
  const std::vector<Field>& fields = AllFields();
  for (std::size_t i = 0; i < fields.size() && i < kMaxFields; ++i) {
    if (!IsExpected(layout, fields[i].name, totals.power[i] > 0)) continue;
    const std::uint64_t steps = totals.power_steps[Index(fields[i].kernel)];
    if (steps == 0) continue;
    Json row;
    row["field"] = fields[i].name;
    row["share"] =
        static_cast<double>(totals.power[i]) / static_cast<double>(steps);
    row["sampled"] = steps;
    row["made_for"] = totals.made_for[i];
    row["made_for_sampled"] = totals.made_sampled[i];
    // Null: no case made for the field was sampled.
    row["made_for_share"] =
        totals.made_sampled[i] == 0
            ? Json(nullptr)
            : Json(static_cast<double>(totals.made_informative[i]) /
                   static_cast<double>(totals.made_sampled[i]));
    table.push_back(row);
  }
  return table;
}

// Relations of the kernels under test that no case met; those of GPUs only
// there, and those of fused campaigns.
Json NotTriedJson(const CampaignOptions& options, const Totals& totals) {
  Json names = Json::array();
  const std::vector<Relation>& relations = AllRelations();
  for (std::size_t i = 0; i < relations.size() && i < kMaxRelations; ++i) {
    const bool meant =
        UnderTest(options, relations[i].kernel) &&
        (!relations[i].on_devices || !options.targets.device_name().empty()) &&
        (!relations[i].only_asked || options.fuse > 1);
    if (!meant || totals.relations[i] != 0) continue;
    names.push_back({{"kernel", KernelName(relations[i].kernel)},
                     {"relation", relations[i].name}});
  }
  return names;
}

Json CurveJson(const Curve& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points()) {
    points.push_back({{"seconds", point.seconds},
                      {"cases", point.cases},
                      {"coverage", point.coverage},
                      {"findings", point.findings}});
  }
  return points;
}

// What did not run, and why: never a silent pass.
Json SkippedJson(const CampaignOptions& options) {
  Json skipped = Json::array();
  for (const Kernel kernel : kAllKernels) {
    if (UnderTest(options, kernel)) continue;
    skipped.push_back(absl::StrCat(KernelName(kernel), ": not under test"));
  }
  if (options.targets.device_name().empty()) {
    skipped.push_back("cuda backend: not asked for (--backend=cuda)");
  }
  return skipped;
}

}  // namespace

BuildInfo ReadBuildInfo(const Engine& engine) {
  BuildInfo build;
  build.compiler = absl::StrCat("clang ", __clang_version__);
  const auto flags = ReadFile(engine.path + ".flags");
  if (!flags.ok()) return build;
  for (const absl::string_view line : absl::StrSplit(*flags, '\n')) {
    if (absl::StartsWith(line, "all: ")) {
      build.all_flags = std::string(line.substr(5));
    } else if (absl::StartsWith(line, "kernels: ")) {
      build.kernel_flags = std::string(line.substr(9));
    }
  }
  return build;
}

nlohmann::ordered_json ReportJson(const CampaignOptions& options,
                                  const CampaignResult& result,
                                  const BuildInfo& build) {
  const Totals& totals = result.totals;
  Json json;
  json["schema_version"] = 1;
  json["summary"] = SummaryLine(result);
  json["target"] = TargetsText(options.targets);
  if (options.other.has_value()) {
    json["compared_with"] = TargetsText(*options.other);
  }
  json["backend"] = options.targets.device_name().empty() ? "host" : "cuda";
  json["tier"] = TierText(options.targets);
  // Of modules in Python.
  if (options.targets.tensors_size() > 0) {
    json["tensors"] = options.targets.tensors();
  }
  json["flavour"] = options.engine.flavour;
  json["seed"] = options.seed;
  json["exit_code"] = ExitCode(result);
  json["command"] = options.command;
  json["kernels"] = options.kernels;
  json["mutator"] =
      options.mutator == WorkRequest::BYTES ? "bytes" : "structured";
  json["jobs"] = options.jobs;
  json["interrupted"] = result.interrupted;
  json["cases"] = totals.cases;
  json["distinct_cases"] = Json::object();
  json["executions"] = Json::object();
  json["distinct_estimated"] = Json::array();
  for (const Kernel kernel : kAllKernels) {
    if (totals.distinct_estimated[Index(kernel)]) {
      json["distinct_estimated"].push_back(KernelName(kernel));
    }
    json["distinct_cases"][KernelName(kernel)] = totals.distinct[Index(kernel)];
    json["executions"][KernelName(kernel)] = totals.executions[Index(kernel)];
  }
  if (!options.devices.empty()) json["devices"] = options.devices;
  if (options.fuse > 1) {
    json["fused"] = {{"at_once", options.fuse},
                     {"threads", options.threads},
                     {"cases", totals.fused},
                     {"cases_alone", totals.fused_alone},
                     {"calls", totals.fused_calls},
                     {"judged_on_the_device", totals.fused_lent},
                     {"also_run_alone", totals.fused_rerun},
                     {"calls_that_ended_badly", totals.fused_untold},
                     {"fail_only_fused", totals.only_fused},
                     {"fail_only_alone", totals.only_alone}};
  }
  if (!options.ledger.empty()) json["ledger"] = Json::parse(options.ledger);
  json["inputs"] = totals.inputs;
  json["rejected_inputs"] = totals.rejected;
  json["seconds"] = result.seconds;
  json["cases_per_second"] =
      result.seconds > 0 ? static_cast<double>(totals.cases) / result.seconds
                         : 0.0;
  json["coverage"] = totals.coverage;
  json["curve"] = CurveJson(result.curve);
  json["verdicts"]["checks"] = totals.checks;
  for (int v = 0; v < kVerdictCount; ++v) {
    json["verdicts"][VerdictName(static_cast<Verdict>(v))] =
        totals.verdicts[static_cast<std::size_t>(v)];
  }
  json["failing_checks"] = totals.failures;
  json["undiagnosed_failures"] = totals.undiagnosed;
  json["knobs"] = Json::object();
  const std::vector<Knob>& knobs = AllKnobs();
  for (std::size_t i = 0; i < knobs.size() && i < kMaxKnobs; ++i) {
    if (!UnderTest(options, knobs[i].kernel) ||
        !KnobApplies(static_cast<int>(i), options.layout)) {
      continue;
    }
    json["knobs"][knobs[i].name] = totals.knobs[i];
  }
  if (options.other.has_value()) {
    Json& comparison = json["comparison"];
    comparison["compared"] = totals.compared;
    comparison["not_compared"] = totals.not_compared;
    comparison["not_taken"] = Json::array();
    for (std::size_t i = 0; i < totals.not_taken.size(); ++i) {
      comparison["not_taken"].push_back(
          {{"target", TargetsText(i == 0 ? options.targets : *options.other)},
           {"cases", totals.not_taken[i]},
           {"first", totals.why_not_taken[i]}});
    }
    for (std::size_t i = 0; i < totals.decode_ulps.size(); ++i) {
      Json& one = json["decode_differences"][i == 0 ? "outputs" : "lse"];
      for (std::size_t k = 0; k < UlpCounts::kBuckets; ++k) {
        one[UlpCounts::Name(k)] = totals.decode_ulps[i][k];
      }
      one["most_ulps"] = totals.decode_most_ulps[i];
    }
  }
  json["power"] = PowerJson(totals, options.layout);
  json["power_samples"] = totals.power_samples;
  json["power_table"] = PowerTableJson(totals, options.layout);
  json["relations"] = Json::object();
  const std::vector<Relation>& relations = AllRelations();
  for (std::size_t i = 0; i < relations.size() && i < kMaxRelations; ++i) {
    // One name for several kernels: their sum.
    Json& count = json["relations"][relations[i].name];
    count = (count.is_null() ? 0 : count.get<std::uint64_t>()) +
            totals.relations[i];
  }
  json["relations_not_tried"] = NotTriedJson(options, totals);
  json["skipped"] = SkippedJson(options);
  json["respawns"] = result.respawns;
  json["slow_cases"] = result.slow_cases;
  json["error"] = result.error;
  std::vector<std::string> notes = options.notes;
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  json["notes"] = notes;
  json["incidents"] = result.incidents;
  json["build"] = {{"compiler", build.compiler},
                   {"flags", build.all_flags},
                   {"kernel_flags", build.kernel_flags}};
  json["known_causes"] = Json::array();
  for (const KnownCause& cause : result.known) {
    json["known_causes"].push_back({{"id", cause.id},
                                    {"cause_key", cause.key},
                                    {"kernel", cause.kernel},
                                    {"cause", cause.cause},
                                    {"targets", cause.targets},
                                    {"stage", StageName(cause.stage)},
                                    {"news", cause.news},
                                    {"first_seen", cause.first_seen},
                                    {"last_failed", cause.last_failed},
                                    {"passes", cause.passes},
                                    {"examples", cause.examples},
                                    {"muted", cause.muted}});
  }
  json["findings"] = Json::array();
  for (const Finding& finding : result.findings.all()) {
    json["findings"].push_back(FindingJson(options, finding));
  }
  return json;
}

absl::Status WriteReports(const CampaignOptions& options,
                          const CampaignResult& result) {
  const BuildInfo build = ReadBuildInfo(options.engine);
  const Json report = ReportJson(options, result, build);
  std::map<std::string, FindingDetails> details;
  for (const Finding& finding : result.findings.all()) {
    FindingDetails& shown = details[finding.id];
    shown.evidence = finding.evidence.get();
    for (const Finding::Reproducer& r : finding.reproducers) {
      if (r.path.empty()) continue;
      shown.reproducer_path = r.path;
      shown.reproducer = r.source;
      break;
    }
  }
  // Causes may quote a target's own message: never fail on its bytes.
  const auto dump = [](const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, std::string>>{
           {"report.txt", ReportText(options, result, build)},
           {"report.html", ReportPage(report, details)},
           {"report.sarif", dump(Sarif(report))},
           {"junit.xml", JunitXml(report)},
           {"summary.md", StepSummary(report)},
           {"report.json", dump(report)}}) {
    const absl::Status s =
        WriteFileAtomically(absl::StrCat(options.out, "/", name), text);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
