#include "fuzz/campaign/lifecycle.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/codec.h"
#include "fuzz/campaign/findings.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

constexpr Stage kStages[] = {Stage::kCrashing, Stage::kIncubating,
                             Stage::kRegression};
// Of a folder that is being made.
constexpr char kUnfinished[] = ".new-";
// Examples that are run of a cause which did not show itself.
constexpr std::size_t kMostRun = 32;
constexpr char kStill[] = "still failing";
constexpr char kBack[] = "back";
constexpr char kOtherwise[] = " (fails otherwise)";

absl::Status Cannot(const std::string& what, const std::string& why) {
  return absl::UnavailableError(absl::StrCat("cannot ", what, ": ", why));
}

absl::StatusOr<KnownCause> ReadCause(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/cause.json");
  const auto text = ReadFile(path);
  const auto damaged = [&path](const char* what) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", what,
                     "; restore it, or remove the folder to forget the cause"));
  };
  if (!text.ok()) return damaged("cannot be read");
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return damaged("is no JSON object");
  KnownCause cause;
  const std::pair<const char*, std::string*> texts[] = {
      {"cause_key", &cause.key},         {"kernel", &cause.kernel},
      {"cause", &cause.cause},           {"targets", &cause.targets},
      {"first_seen", &cause.first_seen}, {"last_failed", &cause.last_failed}};
  for (const auto& [name, to] : texts) {
    const auto it = json.find(name);
    if (it == json.end() || !it->is_string()) {
      return damaged(
          absl::StrCat("has no ", name, ", which is a text").c_str());
    }
    *to = it->get<std::string>();
  }
  const auto passes = json.find("passes");
  if (passes == json.end() || !passes->is_number_integer() ||
      passes->get<std::int64_t>() < 0 ||
      passes->get<std::int64_t>() > 1'000'000) {
    return damaged("has no passes, which is a count");
  }
  cause.passes = passes->get<int>();
  return cause;
}

// A file that was cut short may still be a message, but calls nothing.
absl::StatusOr<Case> ReadExample(const std::string& path) {
  auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  auto c = ParseCaseText(*text);
  if (!c.ok()) {
    return absl::DataLossError(
        absl::StrCat(path, ": is no case: ", c.status().message()));
  }
  if (c->steps_size() == 0) {
    return absl::DataLossError(
        absl::StrCat(path, ": is no case: it has no step"));
  }
  return c;
}

// Binary cases of a cause, the smallest first. `unreadable`: files that are no
// case any more, and why, a sentence each.
std::vector<std::string> ExamplesIn(const std::string& folder,
                                    std::vector<std::string>* unreadable) {
  std::vector<std::string> cases;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(absl::StrCat(folder, "/examples"), error)) {
    if (entry.path().extension() != ".txtpb") continue;
    const auto c = ReadExample(entry.path().string());
    if (c.ok()) {
      cases.push_back(CanonicalBinary(*c));
    } else {
      unreadable->emplace_back(c.status().message());
    }
  }
  std::sort(unreadable->begin(), unreadable->end());
  std::sort(cases.begin(), cases.end(),
            [](const std::string& a, const std::string& b) {
              return a.size() != b.size() ? a.size() < b.size() : a < b;
            });
  return cases;
}

absl::Status AddExamples(const std::string& folder,
                         const std::vector<std::string>& cases) {
  std::error_code error;
  fs::create_directories(absl::StrCat(folder, "/examples"), error);
  if (error) return Cannot("make " + folder + "/examples", error.message());
  for (const std::string& binary : cases) {
    const auto c = ParseCaseBinary(binary);
    if (!c.ok()) continue;
    const std::string path =
        absl::StrFormat("%s/examples/%016x.txtpb", folder, CaseHash(*c));
    // One that is damaged is written anew.
    if (fs::exists(path, error) && ReadExample(path).ok()) continue;
    if (absl::Status s = WriteFileAtomically(path, FormatCaseText(*c));
        !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

std::uint64_t CountExamples(const std::string& folder) {
  std::uint64_t count = 0;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(absl::StrCat(folder, "/examples"), error)) {
    count += entry.path().extension() == ".txtpb" ? 1 : 0;
  }
  return count;
}

}  // namespace

const char* StageName(Stage stage) {
  switch (stage) {
    case Stage::kCrashing:
      return "crashing";
    case Stage::kIncubating:
      return "incubating";
    case Stage::kRegression:
      return "regression";
  }
  return "?";
}

bool KnownCause::still_fails() const { return absl::StartsWith(news, kStill); }
bool KnownCause::is_back() const { return absl::StartsWith(news, kBack); }

absl::StatusOr<Lifecycle> Lifecycle::Open(const std::string& out) {
  Lifecycle lifecycle(out);
  for (const Stage stage : kStages) {
    const std::string parent = absl::StrCat(out, "/", StageName(stage));
    std::error_code error;
    std::vector<fs::path> unfinished;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(parent, error)) {
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, kUnfinished)) {
        unfinished.push_back(entry.path());
        continue;
      }
      // A user's own files are none of our business.
      std::error_code ignored;
      if (!fs::exists(entry.path() / "cause.json", ignored)) continue;
      auto cause = ReadCause(entry.path().string());
      if (!cause.ok()) return cause.status();
      cause->id = name;
      cause->stage = stage;
      cause->examples = CountExamples(entry.path().string());
      cause->news = "of other targets";
      lifecycle.causes_.push_back(*std::move(cause));
    }
    for (const fs::path& path : unfinished) fs::remove_all(path, error);
  }
  std::sort(
      lifecycle.causes_.begin(), lifecycle.causes_.end(),
      [](const KnownCause& a, const KnownCause& b) { return a.id < b.id; });
  return lifecycle;
}

std::string Lifecycle::FolderOf(const KnownCause& cause) const {
  return absl::StrCat(out_, "/", StageName(cause.stage), "/", cause.id);
}

absl::Status Lifecycle::Write(const KnownCause& cause,
                              const std::string& folder) const {
  const nlohmann::ordered_json json = {
      {"cause_key", cause.key},         {"kernel", cause.kernel},
      {"cause", cause.cause},           {"targets", cause.targets},
      {"first_seen", cause.first_seen}, {"last_failed", cause.last_failed},
      {"passes", cause.passes}};
  return WriteFileAtomically(
      absl::StrCat(folder, "/cause.json"),
      json.dump(2, ' ', false,
                nlohmann::ordered_json::error_handler_t::replace) +
          "\n");
}

absl::Status Lifecycle::Move(KnownCause& cause, Stage stage) {
  if (stage == cause.stage) return absl::OkStatus();
  const std::string from = FolderOf(cause);
  KnownCause moved = cause;
  moved.stage = stage;
  const std::string to = FolderOf(moved);
  std::error_code error;
  fs::create_directories(absl::StrCat(out_, "/", StageName(stage)), error);
  if (error) return Cannot("make the folder of " + to, error.message());
  fs::rename(from, to, error);
  if (error)
    return Cannot(absl::StrCat("move ", from, " to ", to), error.message());
  cause = moved;
  return absl::OkStatus();
}

absl::Status Lifecycle::Take(const std::string& targets,
                             const std::string& today, const SeenCause& seen) {
  for (KnownCause& cause : causes_) {
    if (cause.key != seen.key || cause.targets != targets) continue;
    cause.news = cause.stage == Stage::kCrashing ? kStill : kBack;
    cause.passes = 0;
    cause.last_failed = today;
    cause.cause = seen.cause;
    if (absl::Status s = AddExamples(FolderOf(cause), seen.cases); !s.ok()) {
      return s;
    }
    if (absl::Status s = Write(cause, FolderOf(cause)); !s.ok()) return s;
    cause.examples = CountExamples(FolderOf(cause));
    return Move(cause, Stage::kCrashing);
  }
  KnownCause cause;
  cause.key = seen.key;
  cause.kernel = seen.kernel;
  cause.cause = seen.cause;
  cause.targets = targets;
  cause.first_seen = cause.last_failed = today;
  cause.news = "new";
  const std::string stem = FindingId(seen.key);
  cause.id = stem;
  // A folder of that name without cause.json is nobody's: it stays, and this
  // cause gets another.
  const auto is_taken = [&](const std::string& id) {
    std::error_code ignored;
    return std::any_of(
        std::begin(kStages), std::end(kStages), [&](const Stage stage) {
          return fs::exists(absl::StrCat(out_, "/", StageName(stage), "/", id),
                            ignored);
        });
  };
  for (int n = 2; is_taken(cause.id); ++n)
    cause.id = absl::StrCat(stem, "-", n);
  const std::string made = absl::StrCat(out_, "/", StageName(Stage::kCrashing),
                                        "/", kUnfinished, cause.id);
  absl::Cleanup forget = [&made] {
    std::error_code ignored;
    fs::remove_all(made, ignored);
  };
  if (absl::Status s = AddExamples(made, seen.cases); !s.ok()) return s;
  if (absl::Status s = Write(cause, made); !s.ok()) return s;
  cause.examples = CountExamples(made);
  std::error_code error;
  fs::rename(made, FolderOf(cause), error);
  if (error) return Cannot("make " + FolderOf(cause), error.message());
  std::move(forget).Cancel();
  causes_.push_back(std::move(cause));
  return absl::OkStatus();
}

void Lifecycle::Probe(const std::string& targets, const Run& run) {
  for (KnownCause& cause : causes_) {
    if (cause.targets != targets) continue;
    std::vector<std::string> unreadable;
    std::vector<std::string> cases = ExamplesIn(FolderOf(cause), &unreadable);
    if (!unreadable.empty()) {
      notes_.push_back(absl::StrCat(
          unreadable.size(), " of the ", unreadable.size() + cases.size(),
          " examples of ", StageName(cause.stage), "/", cause.id,
          " cannot be read and were not run, the first ", unreadable[0],
          "; restore them, or remove them if the others will do"));
    }
    if (cases.size() > kMostRun) cases.resize(kMostRun);
    std::string unjudged = "it has no example that can be read";
    std::string ended;
    bool passes = false, fails = false, otherwise = false;
    for (const std::string& binary : cases) {
      const auto outcome = run(binary, cause);
      if (absl::IsFailedPrecondition(outcome.status())) {
        unjudged = std::string(outcome.status().message());
        continue;
      }
      if (!outcome.ok()) {
        ended = std::string(outcome.status().message());
        break;
      }
      passes |= *outcome == Outcome::kPasses;
      otherwise |= *outcome == Outcome::kFailsOtherwise;
      fails = *outcome == Outcome::kFails;
      if (fails) break;
    }
    if (fails || otherwise) {
      cause.news = absl::StrCat(kStill, fails ? "" : kOtherwise);
    } else if (!ended.empty() || !passes) {
      cause.news = absl::StrCat("not run: ", ended.empty() ? unjudged : ended);
    } else {
      cause.news = "passes";
    }
  }
}

absl::Status Lifecycle::Settle(KnownCause& cause, const std::string& today) {
  if (cause.still_fails()) {
    // How it fails stays said.
    if (cause.stage != Stage::kCrashing) {
      cause.news.replace(0, sizeof kStill - 1, kBack);
    }
    cause.passes = 0;
    cause.last_failed = today;
    if (absl::Status s = Write(cause, FolderOf(cause)); !s.ok()) return s;
    return Move(cause, Stage::kCrashing);
  }
  // Of what did not run nothing is known: it stays where it is.
  if (cause.news != "passes") return absl::OkStatus();
  ++cause.passes;
  const Stage stage =
      cause.passes >= kPassesToRest ? Stage::kRegression : Stage::kIncubating;
  if (cause.stage == Stage::kCrashing) cause.news = "gone";
  if (absl::Status s = Write(cause, FolderOf(cause)); !s.ok()) return s;
  return Move(cause, stage);
}

absl::Status Lifecycle::Update(const std::string& targets,
                               const std::string& today,
                               const std::vector<SeenCause>& seen) {
  const std::size_t known = causes_.size();
  for (const SeenCause& one : seen) {
    if (absl::Status s = Take(targets, today, one); !s.ok()) return s;
  }
  for (std::size_t i = 0; i < known; ++i) {
    KnownCause& cause = causes_[i];
    if (cause.targets != targets ||
        std::any_of(seen.begin(), seen.end(), [&cause](const SeenCause& one) {
          return one.key == cause.key;
        })) {
      continue;
    }
    if (absl::Status s = Settle(cause, today); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
