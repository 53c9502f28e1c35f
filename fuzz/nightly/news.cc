#include "fuzz/nightly/news.h"

#include <algorithm>
#include <iterator>
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
  // Of each cause its cases, the smallest first. One case may be found under
  // several flavours.
  struct Found {
    FoundCase sample;
    std::string binary;
  };
  std::map<CauseName, std::map<std::pair<std::size_t, std::string>, Found>> all;
  for (const std::string& id : *ids) {
    auto found = ReadFoundCase(state, id);
    if (!found.ok()) return found.status();
    auto binary = state.Get(Kind::kCase, found->case_id());
    if (!binary.ok()) return binary.status();
    auto& of = all[NameOf(*found)];
    std::pair rank(binary->size(), found->case_id());
    of.try_emplace(std::move(rank),
                   Found{*std::move(found), *std::move(binary)});
    if (of.size() > kMoreExamples + 1) of.erase(std::prev(of.end()));
  }
  Causes causes;
  for (auto& [name, cases] : all) {
    Cause& cause = causes[name];
    for (auto& [rank, found] : cases) {
      if (cause.case_binary.empty()) {
        cause.sample = std::move(found.sample);
        cause.case_binary = std::move(found.binary);
      } else {
        cause.more_cases.push_back(std::move(found.binary));
      }
    }
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
    const bool gone = cause.value("news", "") == NewsName(News::kGone);
    // Reports of before there were stages know of the last night alone.
    known[{cause.value("targets", ""), cause.value("key", "")}] = {
        cause.value("first_night", night), gone,
        gone ? std::max(1, cause.value("passes", 1)) : 0};
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

Standing StandingOf(const CauseName& name, const Cause& cause,
                    const KnownBefore& known) {
  if (NewsOf(name, cause, known) != News::kGone) return {};
  const auto it = known.find(name);
  const int passes = (it == known.end() ? 0 : it->second.passes) +
                     (cause.replay == kPasses ? 1 : 0);
  return {passes >= kPassesToRest ? Stage::kRegression : Stage::kIncubating,
          passes};
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
    const Standing standing = StandingOf(name, cause, known);
    json["causes"].push_back({{"id", CauseId(found)},
                              {"news", NewsName(NewsOf(name, cause, known))},
                              {"stage", StageName(standing.stage)},
                              {"passes", standing.passes},
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
                      cause.found_tonight ? "; found again tonight" : "");
      const Standing standing = StandingOf(name, cause, known);
      if (standing.stage != Stage::kCrashing) {
        absl::StrAppend(&lines[news], "; ", StageName(standing.stage), ": ",
                        standing.passes, " of ", kPassesToRest,
                        " nights in a row");
      }
      lines[news] += "\n";
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

Changes ChangesSince(const Causes& causes, const KnownBefore& then,
                     const KnownBefore& now) {
  Changes changes;
  for (const auto& [name, cause] : causes) {
    const auto before = then.find(name);
    const auto after = now.find(name);
    const bool gone = after != now.end() && after->second.gone;
    if (before == then.end()) {
      absl::StrAppend(&changes.fresh, Line(cause));
    } else if (before->second.gone && !gone) {
      absl::StrAppend(&changes.back, Line(cause));
    } else if (gone && !before->second.gone) {
      absl::StrAppend(&changes.gone, Line(cause));
    }
  }
  return changes;
}

}  // namespace mlafuzz
