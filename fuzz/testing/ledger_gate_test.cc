// The quality of the harness itself, in a minute: the core of the ledger with
// fixed seeds beside what was recorded of it; and that a harness which is
// weakened on purpose does not pass.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/ledger/measure.h"
#include "fuzz/ledger/recorded.h"
#include "fuzz/ledger/run.h"
#include "fuzz/ledger/text.h"
#include "gtest/gtest.h"
#include "oracle/verdict.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

// Of twenty that are recorded: see GateProblems().
constexpr std::uint64_t kSeeds = 3;

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return std::filesystem::absolute(value != nullptr ? value : "").string();
}

std::vector<RecordedKill> Recorded() {
  const auto text = ReadFile(FromEnvironment("RECORDED"));
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return {};
  const auto kills = ParseRecorded(*text);
  EXPECT_TRUE(kills.ok()) << kills.status();
  return kills.ok() ? *kills : std::vector<RecordedKill>();
}

LedgerResult Measure(const LedgerOptions& options) {
  const auto result = RunLedger(options, nullptr);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : LedgerResult();
}

LedgerOptions Options(const char* engine) {
  LedgerOptions options;
  options.measure.engine = {FromEnvironment(engine), "plain"};
  options.seeds = kSeeds;
  options.core_only = true;
  options.jobs = 2;
  options.controls = false;
  return options;
}

TEST(Record, HasTheCoreUnderBothEnginesWithTwentySeeds) {
  const std::vector<RecordedKill> kills = Recorded();
  for (const LedgerEntry& entry : CoreLedger()) {
    for (const char* engine : {"libfuzzer", "rapidcheck"}) {
      const auto kill =
          std::find_if(kills.begin(), kills.end(), [&](const RecordedKill& k) {
            return k.mutant == entry.target && k.engine == engine;
          });
      ASSERT_NE(kill, kills.end())
          << entry.target << " under " << engine
          << ": run `mlafuzz ledger --core --seeds=20 "
             "--record=properties/ledger/recorded.json`";
      EXPECT_EQ(kill->executions.size() + kill->missed, 20u) << entry.target;
    }
  }
}

class Core : public testing::TestWithParam<const char*> {};

TEST_P(Core, IsKilledAsRecorded) {
  LedgerOptions options = Options("ENGINE");
  options.engines = {GetParam()};
  std::vector<RecordedKill> kills = Recorded();
  kills.erase(std::remove_if(
                  kills.begin(), kills.end(),
                  [](const RecordedKill& k) { return k.engine != GetParam(); }),
              kills.end());
  const LedgerResult result = Measure(options);
  EXPECT_EQ(result.mutants.size(), CoreLedger().size());
  EXPECT_EQ(GateProblems(result, kills), std::vector<std::string>())
      << LedgerText(result);
}

INSTANTIATE_TEST_SUITE_P(Engines, Core,
                         testing::Values("libfuzzer", "rapidcheck"));

TEST(Gate, RightKernelsAreNotFlagged) {
  LedgerOptions options = Options("ENGINE");
  options.controls = true;
  options.targets = {"builtin", "builtin:pow2", "builtin:e4m3",
                     "builtin:flashmla", "control:thread-mapping"};
  options.measure.control_cases = 300;
  const LedgerResult result = Measure(options);
  EXPECT_EQ(result.controls.size(), options.targets.size());
  EXPECT_EQ(GateProblems(result, {}), std::vector<std::string>());
}

// A weakening and wrong kernels of the core of which at least one must turn the
// gate red.
struct Weakening {
  const char* name;
  const char* targets;
};

class Weakened : public testing::TestWithParam<Weakening> {};

TEST_P(Weakened, TurnsTheGateRed) {
  setenv("MLAFUZZ_WEAKENED", GetParam().name, 1);
  LedgerOptions options = Options("WEAKENED_ENGINE");
  options.engines = {"libfuzzer"};
  options.targets = absl::StrSplit(GetParam().targets, ',');
  // Enough for any of these whose judge is whole.
  options.measure.inputs = 1000;
  std::vector<RecordedKill> kills = Recorded();
  kills.erase(std::remove_if(kills.begin(), kills.end(),
                             [](const RecordedKill& k) {
                               return k.engine != "libfuzzer";
                             }),
              kills.end());
  const LedgerResult result = Measure(options);
  ASSERT_EQ(result.mutants.size(), options.targets.size());
  const std::vector<std::string> problems = GateProblems(result, kills);
  EXPECT_FALSE(problems.empty()) << LedgerText(result);
  std::printf("%s\n", absl::StrJoin(problems, "\n").c_str());
  // A weak oracle, seen as that: triggered, not detected.
  for (const MutantRow& row : result.mutants) {
    for (const SeedRun& run : row.engines[0].runs) {
      EXPECT_TRUE(run.triggered) << row.id << ", seed " << run.seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Judges, Weakened,
    testing::Values(
        Weakening{"all-pass",
                  "mutant:nope-stale-tail,mutant:index-zero-for-invalid,"
                  "mutant:sink-dropped"},
        Weakening{"bounds:1e6",
                  "mutant:v-pow2-scale,mutant:split-partial-dropped"},
        Weakening{"no-tails",
                  "mutant:nope-stale-tail,mutant:gather-stale-tail"},
        Weakening{"no:refusal", "mutant:refuses-all"},
        Weakening{"no:writer-row", "mutant:scale-reciprocal"},
        Weakening{"no:gather-exact", "mutant:gather-drops-pages"},
        Weakening{"no:convert-exact", "mutant:index-zero-for-invalid"},
        Weakening{"no:decode-out", "mutant:v-pow2-scale"},
        // Relations see it as well, if later.
        Weakening{"no:decode-lse,duplicates,exact-lattice",
                  "mutant:lse-wrong-base"}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

// The same beside what a whole judge makes of them, for wrong kernels that are
// not recorded.
std::vector<std::string> WeakenedProblems(
    const std::vector<LedgerEntry>& entries, const char* weakening) {
  const LedgerOptions options = Options("WEAKENED_ENGINE");
  const auto measure = [&](const char* name) {
    setenv("MLAFUZZ_WEAKENED", name, 1);
    LedgerResult result;
    for (const LedgerEntry& entry : entries) {
      MutantRow row;
      row.id = entry.target;
      row.engines.push_back({"libfuzzer", {}});
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        MeasureOptions measure = options.measure;
        measure.inputs = 1000;
        const auto run =
            MeasureMutant(measure, entry, WorkRequest::STRUCTURED, seed);
        EXPECT_TRUE(run.ok()) << run.status();
        if (run.ok()) row.engines[0].runs.push_back(*run);
      }
      result.mutants.push_back(std::move(row));
    }
    return result;
  };
  const LedgerResult whole = measure("none");
  for (const MutantRow& row : whole.mutants) {
    for (const SeedRun& run : row.engines[0].runs) {
      EXPECT_TRUE(run.detected) << row.id << ", seed " << run.seed;
    }
  }
  return GateProblems(measure(weakening), Record(whole));
}

// Wide bounds hide what no wrong kernel of the core does: all of those are off
// by far more. (A thousand times as wide hide it as well, but for cases in
// which the values cancel, which come sooner or later.)
TEST(WeakenedBounds, HideAnUndeclaredRounding) {
  const LedgerEntry entry = {"puzzle:undeclared-partials",
                             {Kernel::kDecode},
                             {"decode-out", "decode-lse"},
                             "",
                             "",
                             "",
                             "operator: another rounding"};
  const auto problems = WeakenedProblems({entry}, "bounds:100000");
  EXPECT_FALSE(problems.empty());
  std::printf("%s\n", absl::StrJoin(problems, "\n").c_str());
}

// Properties that see what nothing else need see.
class WeakenedProperty
    : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WeakenedProperty, IsMissed) {
  const auto [property, puzzle] = GetParam();
  std::vector<LedgerEntry> entries = {
      {puzzle, {Kernel::kGather}, {property}, "", "", "", "impostor"}};
  for (const LedgerEntry& entry : Ledger()) {
    if (entry.properties == std::vector<std::string>{property} &&
        entries.size() < 3) {
      entries.push_back(entry);
    }
  }
  const auto problems =
      WeakenedProblems(entries, absl::StrCat("no:", property).c_str());
  for (const LedgerEntry& entry : entries) {
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(),
                            [&](const std::string& problem) {
                              return absl::StartsWith(problem, entry.target);
                            }))
        << entry.target;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Judges, WeakenedProperty,
    testing::Values(std::pair(property::kWrittenSet, "puzzle:marks-pool"),
                    std::pair(property::kMemory, "puzzle:marks-input")));

}  // namespace
}  // namespace mlafuzz
