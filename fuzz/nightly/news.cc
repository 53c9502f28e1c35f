#include "fuzz/nightly/news.h"

#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/nightly/nights.h"

namespace mlafuzz {
namespace {

constexpr char kNotRun[] = "not run";
constexpr char kPasses[] = "passes";
constexpr char kOtherwise[] = "fails otherwise";
constexpr char kFails[] = "fails";

int RankOf(const std::string& replay) {
  if (replay == kFails) return 3;
  if (replay == kOtherwise) return 2;
  return replay == kPasses ? 1 : 0;
}

std::string Line(const Cause& cause) {
  const FoundCase& found = cause.sample;
  std::string line = absl::StrCat(
      "  ", CauseId(found), ": ", found.targets(), ": ",
      found.cause().empty() ? absl::StrCat(found.kernel(), " ", found.verdict())
                            : found.cause());
  if (!cause.minimal_file.empty()) {
    absl::StrAppend(&line, "\n    minimal case: ", cause.minimal_file);
  } else if (!cause.note.empty()) {
    absl::StrAppend(&line, "\n    not minimised: ", cause.note);
  }
  return absl::StrCat(line, "\n");
}

}  // namespace

const char* NewsName(News news) {
  switch (news) {
    case News::kNew:
      return "new";
    case News::kBack:
      return "back";
    case News::kStill:
      return "still failing";
    case News::kGone:
      return "gone";
  }
  return "";
}

CauseName NameOf(const FoundCase& found) {
  return {found.targets(), found.key()};
}

std::string CauseId(const FoundCase& found) {
  return absl::StrCat(FindingId(found.key()), "-",
                      ContentId(found.targets()).substr(0, 8));
}

std::string ReplayText(const absl::StatusOr<Outcome>& outcome) {
  if (!outcome.ok()) {
    return absl::StrCat(kNotRun, ": ", outcome.status().message());
  }
  switch (*outcome) {
    case Outcome::kFails:
      return kFails;
    case Outcome::kFailsOtherwise:
      return kOtherwise;
    case Outcome::kPasses:
      return kPasses;
  }
  return kNotRun;
}

const std::string& WorseReplay(const std::string& a, const std::string& b) {
  return RankOf(b) > RankOf(a) ? b : a;
}

absl::StatusOr<Causes> CausesOf(const State& state, const KnownBefore& known,
                                std::uint64_t night) {
  const auto ids = state.List(Kind::kFinding);
  if (!ids.ok()) return ids.status();
  Causes causes;
  for (const std::string& id : *ids) {
    auto found = ReadFoundCase(state, id);
    if (!found.ok()) return found.status();
    auto binary = state.Get(Kind::kCase, found->case_id());
    if (!binary.ok()) return binary.status();
    const CauseName name = NameOf(*found);
    const auto it = causes.find(name);
    const auto rank = [](const std::string& bytes, const std::string& case_id) {
      return std::pair(bytes.size(), case_id);
    };
    if (it != causes.end() &&
        rank(it->second.case_binary, it->second.sample.case_id()) <=
            rank(*binary, found->case_id())) {
      continue;
    }
    Cause& cause = causes[name];
    cause.sample = *std::move(found);
    cause.case_binary = *std::move(binary);
    const auto at = known.find(name);
    cause.first_night = at == known.end() ? night : at->second.first_night;
  }
  return causes;
}

absl::StatusOr<KnownBefore> KnownCausesOf(const std::string& state_path,
                                          std::uint64_t night) {
  KnownBefore known;
  if (night == 0) return known;
  const std::string path = NightFolder(state_path, night) + "/report.json";
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const bool whole =
      json.is_object() && json.contains("causes") && json["causes"].is_array();
  if (!whole) {
    return absl::DataLossError(absl::StrCat(
        path, ": is no report of a night; name another one with --since"));
  }
  for (const auto& cause : json["causes"]) {
    known[{cause.value("targets", ""), cause.value("key", "")}] = {
        cause.value("first_night", night),
        cause.value("news", "") == NewsName(News::kGone)};
  }
  return known;
}

News NewsOf(const CauseName& name, const Cause& cause,
            const KnownBefore& known) {
  const auto it = known.find(name);
  if (it == known.end()) return News::kNew;
  if (!cause.found_tonight) {
    if (cause.replay == kPasses) return News::kGone;
    // That nobody looked at it is no news.
    if (absl::StartsWith(cause.replay, kNotRun) && it->second.gone) {
      return News::kGone;
    }
  }
  return it->second.gone ? News::kBack : News::kStill;
}

nlohmann::ordered_json NightJson(const NightResult& result,
                                 const Causes& causes,
                                 const KnownBefore& known) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["night"] = result.night;
  json["since"] = result.since;
  json["exit_code"] = result.exit_code;
  json["red"] = result.red;
  json["epoch"] = result.epoch;
  json["work"] = nlohmann::ordered_json::array();
  for (const NightResult::Done& done : result.work) {
    json["work"].push_back({{"targets", done.targets},
                            {"units", done.units},
                            {"cases", done.cases},
                            {"informative_checks", done.informative}});
  }
  json["regressions"] = {{"cases", result.regressions},
                         {"unjudged", result.unjudged_regressions},
                         {"failed", result.failed_regressions}};
  json["ledger_gate"] = result.gate;
  json["causes"] = nlohmann::ordered_json::array();
  for (const auto& [name, cause] : causes) {
    const FoundCase& found = cause.sample;
    json["causes"].push_back({{"id", CauseId(found)},
                              {"news", NewsName(NewsOf(name, cause, known))},
                              {"first_night", cause.first_night},
                              {"targets", found.targets()},
                              {"key", found.key()},
                              {"kernel", found.kernel()},
                              {"verdict", found.verdict()},
                              {"property", found.property()},
                              {"field", found.field()},
                              {"cause", found.cause()},
                              {"case", found.case_id()},
                              {"replay", cause.replay},
                              {"found_tonight", cause.found_tonight},
                              {"minimal_file", cause.minimal_file},
                              {"note", cause.note}});
  }
  return json;
}

std::string NightText(const NightResult& result, const Causes& causes,
                      const KnownBefore& known) {
  std::map<News, std::string> lines;
  for (const auto& [name, cause] : causes) {
    const News news = NewsOf(name, cause, known);
    absl::StrAppend(&lines[news], Line(cause));
    if (news != News::kNew) {
      absl::StrAppend(&lines[news], "    since night ", cause.first_night,
                      "; its case: ", cause.replay,
                      cause.found_tonight ? "; found again tonight\n" : "\n");
    }
  }
  std::string text =
      absl::StrCat("night ", result.night, ", epoch ", result.epoch, "\n");
  for (const News news : {News::kNew, News::kBack, News::kStill, News::kGone}) {
    const std::string& of = lines[news];
    absl::StrAppend(&text, NewsName(news), ":",
                    of.empty() ? " nothing\n" : "\n", of);
  }
  for (const NightResult::Done& done : result.work) {
    absl::StrAppend(&text, "work ", done.targets, ": ", done.units, " units, ",
                    done.cases, " cases, ", done.informative,
                    " informative checks\n");
  }
  absl::StrAppend(&text, "regressions: ", result.regressions, " cases, ",
                  result.failed_regressions.size(), " failed");
  if (result.unjudged_regressions > 0) {
    absl::StrAppend(&text, ", of ", result.unjudged_regressions,
                    " nothing was judged");
  }
  absl::StrAppend(&text, "\n");
  for (const std::string& path : result.failed_regressions) {
    absl::StrAppend(&text, "  ", path, "\n");
  }
  absl::StrAppend(&text, "ledger gate: ", result.gate, "\n");
  for (const std::string& why : result.red) {
    absl::StrAppend(&text, "RED: ", why, "\n");
  }
  return text;
}

std::string NewCausesText(const Causes& causes, const KnownBefore& known) {
  std::string text;
  for (const auto& [name, cause] : causes) {
    if (known.count(name) == 0) absl::StrAppend(&text, Line(cause));
  }
  return text;
}

}  // namespace mlafuzz
