// mlafuzz corpus

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/corpus_files.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/state_flags.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/state/features.h"
#include "fuzz/state/records.h"
#include "fuzz/state/zip.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

// Cases that this version reads, by id; the ids of the others.
struct Readable {
  std::vector<std::pair<std::string, std::string>> cases;  // id, bytes
  std::vector<std::string> others;                         // a sentence each
};

absl::StatusOr<Readable> ReadCases(const State& state,
                                   const std::vector<std::string>& ids) {
  Readable readable;
  for (const std::string& id : ids) {
    auto bytes = state.Get(Kind::kCase, id);
    absl::Status why = bytes.status();
    if (bytes.ok()) {
      const auto c = ParseCaseBinary(*bytes);
      why = c.ok() ? BuildImage(*c).status() : c.status();
      if (!why.ok())
        why = absl::InvalidArgumentError(absl::StrCat(id, ": ", why.message()));
    }
    if (why.ok()) {
      readable.cases.emplace_back(id, *std::move(bytes));
    } else {
      readable.others.emplace_back(why.message());
    }
  }
  return readable;
}

void PrintEpoch(const NamedEpoch& epoch) {
  std::printf("epoch %llu: %d cases\n",
              static_cast<unsigned long long>(epoch.epoch.number()),
              epoch.epoch.cases_size());
}

absl::StatusOr<int> Import(const Arguments& arguments,
                           const std::vector<std::string>& typed) {
  if (arguments.Get("state").empty()) {
    return absl::InvalidArgumentError("needs --state=DIR");
  }
  std::vector<std::string> folders;
  for (const std::string& folder : typed) {
    folders.push_back(CallersPath(folder));
    std::error_code error;
    if (!fs::is_directory(folders.back(), error)) {
      return absl::NotFoundError(
          absl::StrCat(folder, " is no folder; name one with cases in it"));
    }
  }
  if (folders.empty()) {
    const auto stored = StoredCases();
    if (!stored.ok()) return stored.status();
    folders.push_back(*stored);
  }
  std::vector<std::string> paths;
  std::size_t skipped = 0;
  for (const std::string& folder : folders) {
    const CorpusFiles files = ReadCorpusFiles(folder);
    if (!files.bad.empty()) {
      std::printf("note: %zu of %zu files in %s are skipped: %s\n",
                  files.bad.size(), files.files, ShownPath(folder).c_str(),
                  BadFilesText(files).c_str());
    }
    skipped += files.bad.size();
    paths.insert(paths.end(), files.good.begin(), files.good.end());
  }
  std::fflush(stdout);
  if (paths.empty() && skipped > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "import: all files were skipped, ", skipped,
        " of them; nothing was imported and no epoch begun: name a folder of "
        "cases, as a campaign's findings or corpus/small"));
  }
  auto state = State::OpenOrMake(CallersPath(arguments.Get("state")));
  if (!state.ok()) return state.status();
  auto newest = NewestEpoch(*state);
  if (!newest.ok()) return newest.status();
  std::vector<std::string> ids;
  if (newest->has_value()) {
    ids.assign((*newest)->epoch.cases().begin(),
               (*newest)->epoch.cases().end());
  }
  for (const std::string& path : paths) {
    const auto c = ReadCase(path);
    if (!c.ok()) return c.status();
    auto id = state->Put(Kind::kCase, CanonicalBinary(*c));
    if (!id.ok()) return id.status();
    ids.push_back(*std::move(id));
  }
  const auto epoch = StartEpoch(*state, std::move(ids));
  if (!epoch.ok()) return epoch.status();
  PrintEpoch(*epoch);
  return kExitNothingFound;
}

absl::StatusOr<int> Stats(const State& state) {
  const auto ids = state.List(Kind::kCase);
  if (!ids.ok()) return ids.status();
  const auto readable = ReadCases(state, *ids);
  if (!readable.ok()) return readable.status();
  const auto epoch = NewestEpoch(state);
  if (!epoch.ok()) return epoch.status();
  const auto units = ReadUnits(state);
  if (!units.ok()) return units.status();
  const auto findings = state.List(Kind::kFinding);
  if (!findings.ok()) return findings.status();
  const auto shards = state.Shards();
  if (!shards.ok()) return shards.status();
  std::printf("cases %zu\n", readable->cases.size());
  if (epoch->has_value()) PrintEpoch(**epoch);
  std::uint64_t ran = 0;
  for (const auto& [key, unit] : units->done) ran += unit.cases();
  std::printf("units %zu, %llu cases run\nshards %zu\n", units->done.size(),
              static_cast<unsigned long long>(ran), shards->size());
  std::map<std::string, std::size_t> causes;
  std::vector<std::string> wrong = readable->others;
  wrong.insert(wrong.end(), units->broken.begin(), units->broken.end());
  for (const std::string& id : *findings) {
    const auto found = ReadFoundCase(state, id);
    if (!found.ok()) {
      wrong.emplace_back(found.status().message());
      continue;
    }
    ++causes[absl::StrCat(found->targets(), ": ", found->key())];
  }
  std::printf("findings %zu, causes %zu\n", findings->size(), causes.size());
  for (const auto& [cause, cases] : causes) {
    std::printf("  %s, %zu %s\n", cause.c_str(), cases,
                cases == 1 ? "case" : "cases");
  }
  int code = kExitNothingFound;
  for (const std::string& line : wrong) {
    code = UsageError(absl::StrCat("corpus stats: ", line));
  }
  return code;
}

absl::StatusOr<int> Prune(const Arguments& arguments, State& state) {
  CampaignOptions options;
  auto targets = ReadTarget("builtin", arguments);
  if (!targets.ok()) return targets.status();
  options.targets = *std::move(targets);
  auto kernels = ReadKernels(arguments, options.targets);
  if (!kernels.ok()) return kernels.status();
  options.kernels = *std::move(kernels);
  auto engine = FindEngine(arguments.Get("flavour"));
  if (!engine.ok()) return engine.status();
  options.engine = *std::move(engine);
  const auto ids = state.List(Kind::kCase);
  if (!ids.ok()) return ids.status();
  auto readable = ReadCases(state, *ids);
  if (!readable.ok()) return readable.status();
  for (const std::string& line : readable->others) {
    std::printf("note: left out of the new epoch: %s\n", line.c_str());
  }
  // Smallest first: what a small case reaches no large one is kept for.
  std::sort(readable->cases.begin(), readable->cases.end(),
            [](const auto& a, const auto& b) {
              return std::pair(a.second.size(), a.first) <
                     std::pair(b.second.size(), b.first);
            });
  std::vector<std::string> cases;
  cases.reserve(readable->cases.size());
  for (const auto& [id, bytes] : readable->cases) cases.push_back(bytes);
  CatchStopSignals();
  const auto adding = AddingFeatures(options, cases);
  if (!adding.ok()) return adding.status();
  std::vector<std::string> kept;
  kept.reserve(adding->size());
  for (const std::size_t i : *adding) kept.push_back(readable->cases[i].first);
  const auto epoch = StartEpoch(state, std::move(kept));
  if (!epoch.ok()) return epoch.status();
  std::printf("of %zu cases ", cases.size());
  PrintEpoch(*epoch);
  return kExitNothingFound;
}

absl::StatusOr<int> Export(const Arguments& arguments, const State& state) {
  if (arguments.Get("out").empty()) {
    return absl::InvalidArgumentError(
        "export needs --out=FILE.zip, for OSS-Fuzz TARGET_seed_corpus.zip");
  }
  const std::string out = CallersPath(arguments.Get("out"));
  if (absl::Status s = CanWriteFile("out", out); !s.ok()) return s;
  const auto epoch = NewestEpoch(state);
  if (!epoch.ok()) return epoch.status();
  if (!epoch->has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(state.path(), " has no epoch to export"));
  }
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& id : (*epoch)->epoch.cases()) {
    auto bytes = state.Get(Kind::kCase, id);
    if (!bytes.ok()) return bytes.status();
    files.emplace_back(id, *std::move(bytes));
  }
  const auto zip = Zip(files);
  if (!zip.ok()) return zip.status();
  if (absl::Status s = WriteFileAtomically(out, *zip); !s.ok()) return s;
  std::printf("%s: %zu cases\n", ShownPath(out).c_str(), files.size());
  return kExitNothingFound;
}

absl::StatusOr<int> RunVerb(const Arguments& arguments) {
  const std::vector<std::string> known = {"import", "stats", "prune", "export"};
  std::vector<std::string> typed = arguments.positional();
  const std::string verb = typed.empty() ? "" : typed[0];
  if (std::find(known.begin(), known.end(), verb) == known.end()) {
    const std::string near = Nearest(verb, known);
    return absl::InvalidArgumentError(
        absl::StrCat("needs import, stats, prune or export, got \"", verb, "\"",
                     near.empty() ? "" : absl::StrCat("; nearest: ", near)));
  }
  typed.erase(typed.begin());
  if (verb == "import") return Import(arguments, typed);
  if (!typed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(verb, " takes no argument, got \"", typed[0], "\""));
  }
  auto state = ReadState(arguments);
  if (!state.ok()) return state.status();
  if (verb == "stats") return Stats(*state);
  if (verb == "prune") return Prune(arguments, *state);
  return Export(arguments, *state);
}

int Run(const Arguments& arguments, const std::string&) {
  const auto code = RunVerb(arguments);
  if (code.ok()) return *code;
  return UsageError(absl::StrCat("corpus: ", code.status().message()));
}

}  // namespace

Command CorpusCommand() {
  return {"corpus",
          "import|stats|prune|export [DIR...]",
          "a state's cases: begin an epoch, count, minimise, pack",
          {StateFlag(),
           {"out", "FILE.zip", "where export writes the seed corpus"},
           {"flavour", "plain|asan+ubsan|race",
            "the engine whose features prune keeps (default asan+ubsan)"}},
          Run};
}

}  // namespace mlafuzz
