#include "fuzz/ledger/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/ledger/baselines.h"
#include "fuzz/ledger/text.h"
#include "kernels/target_set.h"
#include "properties/ledger/ledger.h"

namespace mlafuzz {
namespace {

// Where nothing works there is no point in going on.
constexpr std::size_t kMostErrors = 20;

// Runs tasks on several threads, each to its end. One that fails leaves an
// error and the others go on, up to kMostErrors. A thread outlives the
// processes that it starts, which would die with it (PR_SET_PDEATHSIG).
class Pool {
 public:
  using Task = std::function<absl::Status()>;

  void Add(Task task) { tasks_.push_back(std::move(task)); }

  // What went wrong, a line each.
  std::vector<std::string> Run(int jobs) {
    std::vector<std::thread> threads;
    const int wanted =
        std::min(std::max(jobs, 1), static_cast<int>(tasks_.size()));
    for (int i = 0; i < wanted; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    return errors_;
  }

 private:
  void Work() {
    for (;;) {
      const std::size_t i = next_++;
      if (i >= tasks_.size() || StopSignals() > 0) return;
      const absl::Status s = tasks_[i]();
      if (s.ok() || absl::IsCancelled(s)) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      errors_.emplace_back(s.message());
      if (errors_.size() < kMostErrors) continue;
      if (errors_.size() == kMostErrors) {
        errors_.emplace_back("so many errors: nothing more was begun");
      }
      next_ = tasks_.size();
    }
  }

  std::vector<Task> tasks_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::vector<std::string> errors_;
};

bool Wanted(const std::vector<std::string>& targets, const std::string& name) {
  return targets.empty() ||
         std::find(targets.begin(), targets.end(), name) != targets.end();
}

// One measurement and whether it was made.
template <typename T>
struct Slot {
  T value{};
  bool done = false;
};

class Run {
 public:
  Run(const LedgerOptions& options, const LedgerProgress& progress)
      : options_(options), progress_(progress) {}

  absl::StatusOr<LedgerResult> Go() {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status s = PlanMutants(); !s.ok()) return s;
    if (options_.controls) PlanControls();
    if (!options_.run_baseline.empty()) {
      if (absl::Status s = PlanBaselines(); !s.ok()) return s;
    }
    std::vector<std::string> errors = pool_.Run(options_.jobs);
    LedgerResult result = Collect();
    result.errors = std::move(errors);
    result.seeds = options_.seeds;
    result.inputs = options_.measure.inputs;
    result.budget_cpu_seconds = options_.measure.budget_cpu_seconds;
    result.flavour = options_.measure.engine.flavour;
    result.interrupted = StopSignals() > 0;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return result;
  }

 private:
  struct Mutant {
    const LedgerEntry* entry;
    std::vector<std::vector<Slot<SeedRun>>> runs;  // by engine, by seed
    Slot<std::vector<std::string>> groups;
    int left = 0;  // tasks
  };
  struct Baseline {
    std::string id;
    // By target (mutants, then controls), by seed.
    std::vector<std::vector<Slot<BaselineRun>>> runs;
    int left = 0;
  };

  absl::Status PlanMutants() {
    std::vector<WorkRequest::Mutator> mutators;
    for (const std::string& engine : options_.engines) {
      const auto mutator = MutatorOf(engine);
      if (!mutator.ok()) return mutator.status();
      mutators.push_back(*mutator);
    }
    for (const LedgerEntry& entry : Ledger()) {
      if (!Wanted(options_.targets, entry.target) ||
          (options_.core_only && !entry.core)) {
        continue;
      }
      Mutant mutant{&entry, {}, {}, 0};
      mutant.runs.assign(mutators.size(),
                         std::vector<Slot<SeedRun>>(options_.seeds));
      mutants_.push_back(std::move(mutant));
    }
    for (Mutant& mutant : mutants_) {
      for (std::size_t e = 0; e < mutators.size(); ++e) {
        for (std::uint64_t seed = 1; seed <= options_.seeds; ++seed) {
          Slot<SeedRun>& slot = mutant.runs[e][seed - 1];
          AddFor(mutant, [this, &mutant, &slot, seed, m = mutators[e]] {
            return Fill(
                slot, MeasureMutant(options_.measure, *mutant.entry, m, seed));
          });
        }
      }
      if (!options_.groups) continue;
      AddFor(mutant, [this, &mutant] {
        return Fill(mutant.groups,
                    FindGroups(options_.measure, *mutant.entry, 1));
      });
    }
    return absl::OkStatus();
  }

  void PlanControls() {
    for (const TargetInfo& info : AllTargets()) {
      if (absl::StartsWith(info.name, "mutant:") ||
          !Wanted(options_.targets, info.name)) {
        continue;
      }
      control_infos_.push_back(&info);
    }
    controls_.resize(control_infos_.size());
    for (std::size_t i = 0; i < controls_.size(); ++i) {
      pool_.Add([this, i] {
        const absl::Status s = Fill(
            controls_[i],
            MeasureControl(options_.measure, *control_infos_[i], /*seed=*/1));
        if (s.ok()) Say(ControlLine(controls_[i].value));
        return s;
      });
    }
  }

  absl::Status PlanBaselines() {
    const auto ids = ListBaselines(options_.run_baseline);
    if (!ids.ok()) return ids.status();
    std::vector<std::string> targets;
    for (const Mutant& mutant : mutants_) {
      targets.push_back(mutant.entry->target);
    }
    for (const TargetInfo* info : control_infos_) {
      targets.push_back(info->name);
    }
    const std::uint64_t seeds =
        options_.baseline_seeds == 0 ? options_.seeds : options_.baseline_seeds;
    for (const std::string& id : *ids) {
      Baseline baseline{id, {}, 0};
      baseline.runs.assign(targets.size(),
                           std::vector<Slot<BaselineRun>>(seeds));
      baselines_.push_back(std::move(baseline));
    }
    for (Baseline& baseline : baselines_) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          ++baseline.left;
          pool_.Add([this, &baseline, t, seed, target = targets[t]] {
            const absl::Status s = Fill(
                baseline.runs[t][seed - 1],
                RunBaseline(options_.run_baseline, baseline.id, target, seed));
            if (s.ok() && Last(baseline.left)) {
              Say(absl::StrCat("baseline ", baseline.id, ": done"));
            }
            return s;
          });
        }
      }
    }
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status Fill(Slot<T>& slot, absl::StatusOr<T> value) {
    if (!value.ok()) return value.status();
    slot = {*std::move(value), true};
    return absl::OkStatus();
  }

  void AddFor(Mutant& mutant, Pool::Task task) {
    ++mutant.left;
    pool_.Add([this, &mutant, task = std::move(task)] {
      const absl::Status s = task();
      if (s.ok() && Last(mutant.left)) Say(MutantLine(Row(mutant)));
      return s;
    });
  }

  bool Last(int& left) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return --left == 0;
  }

  void Say(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (progress_) progress_(line);
  }

  // What was measured of it.
  MutantRow Row(const Mutant& mutant) const {
    MutantRow row;
    row.id = mutant.entry->target;
    row.source = mutant.entry->source;
    for (const Kernel k : mutant.entry->kernels) {
      row.kernels.push_back(KernelName(k));
    }
    for (std::size_t e = 0; e < mutant.runs.size(); ++e) {
      EngineRuns runs{options_.engines[e], {}};
      for (const Slot<SeedRun>& slot : mutant.runs[e]) {
        if (slot.done) runs.runs.push_back(slot.value);
      }
      if (!runs.runs.empty()) row.engines.push_back(std::move(runs));
    }
    if (mutant.groups.done) row.groups = mutant.groups.value;
    return row;
  }

  LedgerResult Collect() const {
    LedgerResult result;
    for (const Mutant& mutant : mutants_) {
      MutantRow row = Row(mutant);
      if (!row.engines.empty()) result.mutants.push_back(std::move(row));
    }
    for (const Slot<ControlRow>& slot : controls_) {
      if (slot.done) result.controls.push_back(slot.value);
    }
    for (const Baseline& baseline : baselines_) {
      BaselineRow row{baseline.id, {}, {}};
      for (std::size_t t = 0; t < baseline.runs.size(); ++t) {
        const bool mutant = t < mutants_.size();
        BaselineTarget target{mutant
                                  ? mutants_[t].entry->target
                                  : control_infos_[t - mutants_.size()]->name,
                              {}};
        for (const Slot<BaselineRun>& slot : baseline.runs[t]) {
          if (slot.done) target.runs.push_back(slot.value);
        }
        if (target.runs.empty()) continue;
        (mutant ? row.mutants : row.controls).push_back(std::move(target));
      }
      result.baselines.push_back(std::move(row));
    }
    return result;
  }

  const LedgerOptions& options_;
  const LedgerProgress& progress_;
  Pool pool_;
  // None of these changes its size once tasks point into it.
  std::vector<Mutant> mutants_;
  std::vector<const TargetInfo*> control_infos_;
  std::vector<Slot<ControlRow>> controls_;
  std::vector<Baseline> baselines_;
  std::mutex mutex_;
};

}  // namespace

absl::StatusOr<WorkRequest::Mutator> MutatorOf(absl::string_view engine) {
  if (engine == "libfuzzer") return WorkRequest::STRUCTURED;
  if (engine == "rapidcheck") return WorkRequest::RAPIDCHECK;
  if (engine == "bytes") return WorkRequest::BYTES;
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown engine \"", engine, "\"; known: libfuzzer, rapidcheck, bytes"));
}

absl::StatusOr<LedgerResult> RunLedger(const LedgerOptions& options,
                                       const LedgerProgress& progress) {
  return Run(options, progress).Go();
}

}  // namespace mlafuzz
