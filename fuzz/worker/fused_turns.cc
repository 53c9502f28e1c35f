#include "fuzz/worker/fused_turns.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "corpus/codec.h"
#include "fuzz/mutator/siblings.h"
#include "fuzz/worker/keep_memory.h"
#include "fuzz/worker/steering.h"
#include "kernels/foreign/executor.h"
#include "properties/fused/for_each.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

// Cases of one static configuration, an engine's input and its siblings. What
// depends on that configuration alone is met so much more rarely; calls hold
// at least so many cases.
constexpr std::uint64_t kFamily = 16;
// The first inputs, stored cases among them, come without siblings: what they
// show takes as many calls as in a campaign that fuses nothing. A GPU has done
// them in seconds, and all known wrong kernels but one are found among fewer.
constexpr std::uint64_t kWithoutSiblings = 8192;
// A turn is heard of when so many more were collected.
constexpr std::size_t kHeardAfter = 3;
// Lent memory takes a call's slack beside its bytes.
constexpr std::int64_t kLentBeside = std::int64_t{4} << 20;
// Bytes of a turn's images; four turns are there at a time.
constexpr std::int64_t kMostBytes = std::int64_t{160} << 20;

// How calls ended that told nothing: of what engines say campaigns keep little.
void Log(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
  const char* const path = std::getenv("MLAFUZZ_FUSED_LOG");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

bool AnyFails(const CaseResult& result) {
  return std::any_of(result.checks.begin(), result.checks.end(),
                     [](const Check& c) { return IsFailure(c.verdict); });
}

}  // namespace

FusedTurns::FusedTurns(const WorkRequest& request, Session& session,
                       WorkerStatus& status, CaseCounts& counts,
                       FindingLog& findings, CaseLog* log,
                       const GeneratorOptions& generator)
    : request_(request),
      session_(session),
      status_(status),
      counts_(counts),
      findings_(findings),
      log_(log),
      generator_(generator),
      threads_(static_cast<int>(std::max(1u, request.threads()))),
      maker_(threads_ > 1),
      caller_(threads_ > 1),
      counter_(threads_ > 1) {
  KeepFreedMemory();
  FusedOptions options;
  options.most_cases = request.fuse();
  options.judge_twice = request.judge_twice();
  options.log = &Log;
  options.threads = threads_;
  options.relations = &Session::CampaignOptions;
  options.stop = [this] { return status_.stop != 0; };
  options.progress = [this] { status_.Add(status_.heartbeat); };
  if (auto* executor = dynamic_cast<ForeignExecutor*>(&session.executor())) {
    auto lent = LentCalls::Create(
        session.targets(), *executor,
        static_cast<std::uint64_t>(options.most_bytes + kLentBeside));
    if (lent.ok()) {
      lent_ = *std::move(lent);
      options.lent = lent_.get();
    } else if (request.judge_twice()) {
      error_ = lent.status();
    } else if (!absl::IsFailedPrecondition(lent.status())) {
      // A GPU is there; calls take the longer way.
      std::fprintf(stderr, "shared calls are judged by the host: %s\n",
                   std::string(lent.status().message()).c_str());
    }
  }
  checker_ =
      std::make_unique<FusedChecker>(session.checker(), session.targets(),
                                     session.executor(), std::move(options));
}

// ---- the engine's thread

// A turn is over when the next input comes, not with the one that fills it: who
// is large fills it more often, and the engine would take what the turns before
// showed for that input's own.
bool FusedTurns::Add(const Case& c, std::string canonical, int made_for) {
  if (collecting_->planned >= request_.fuse() ||
      collecting_->bytes >= kMostBytes) {
    Advance();
  }
  Input input;
  input.c = std::make_unique<Case>(c);
  auto image = BuildImage(*input.c);
  if (!image.ok()) return false;
  input.fused.image = *std::move(image);
  const auto key = FuseKey(session_.checker().contracts(), input.fused.image);
  if (key.ok()) {
    input.fused.key = *key;
    const std::uint64_t fuse = request_.fuse();
    if (status_.inputs > kWithoutSiblings) {
      input.siblings = std::min(fuse, kFamily) - 1;
    }
    if (request_.max_cases() != 0) {
      const std::uint64_t left =
          request_.max_cases() -
          std::min<std::uint64_t>(request_.max_cases(), planned_ + 1);
      input.siblings = std::min<std::size_t>(input.siblings, left);
    }
  }
  input.canonical = std::move(canonical);
  input.made_for = made_for;
  input.number = status_.inputs;
  const std::uint64_t cases = 1 + input.siblings;
  Turn& turn = *collecting_;
  turn.bytes +=
      FusedBytes(input.fused.image) * static_cast<std::int64_t>(cases);
  turn.planned += cases;
  planned_ += cases;
  turn.inputs.push_back(std::move(input));
  return true;
}

// What a turn waits for is the same whatever the number of threads; with one,
// all that follows it is done before the next is collected.
void FusedTurns::Advance() {
  caller_.Wait();
  maker_.Wait();
  counter_.Wait();
  std::unique_ptr<Turn> collected;
  if (counting_ != nullptr) {
    error_.Update(counting_->error);
    shown_.push_back(std::move(counting_));
  }
  const std::size_t unheard = threads_ > 1 ? 0 : kHeardAfter - 1;
  for (; shown_.size() > unheard; shown_.pop_front()) Hear(*shown_.front());
  if (!collecting_->inputs.empty()) {
    collected = std::exchange(collecting_, std::make_unique<Turn>());
    if (generator_.steering != nullptr) {
      collected->weights = generator_.steering->weights;
    }
  }
  if (threads_ == 1) {
    counting_ = std::move(collected);
    if (counting_ == nullptr) return;
    Make(*counting_);
    if (MayRun()) Run(*counting_);
    Count(*counting_);
    error_.Update(counting_->error);
    return;
  }
  counting_ = std::move(running_);
  running_ = std::move(making_);
  making_ = std::move(collected);
  if (making_ != nullptr) maker_.Start([this] { Make(*making_); });
  if (counting_ != nullptr) counter_.Start([this] { Count(*counting_); });
  // Whether it found something decides whether there is another turn.
  if (request_.stop_on_first()) counter_.Wait();
  if (running_ != nullptr && MayRun()) {
    caller_.Start([this] { Run(*running_); });
  }
}

// All that was handed out has run, and is heard of.
void FusedTurns::Drain() {
  if (!collecting_->inputs.empty()) Advance();
  while (making_ != nullptr || running_ != nullptr || counting_ != nullptr) {
    Advance();
  }
  for (; !shown_.empty(); shown_.pop_front()) Hear(*shown_.front());
  while (!postponed_.empty() && MayRun() && status_.stop == 0) {
    Turn rest;
    Run(rest);
    Count(rest);
    Hear(rest);
  }
}

void FusedTurns::Hear(Turn& turn) {
  turn.semantics.Show();
  if (generator_.steering != nullptr && !turn.learnt.empty()) {
    generator_.steering->weights = std::move(turn.learnt);
  }
  error_.Update(turn.error);
}

// Of turns that are not begun. The caller must be done.
bool FusedTurns::MayRun() const {
  if (!error_.ok()) return false;
  if (request_.stop_on_first() && status_.findings != 0) return false;
  return status_.stop == 0 || status_.cases == 0;
}

bool FusedTurns::HasAllCases() {
  if (request_.max_cases() == 0 || planned_ < request_.max_cases()) {
    return false;
  }
  Drain();
  // Some siblings could not be made: others take their place.
  planned_ = status_.cases;
  return planned_ >= request_.max_cases() || !error_.ok();
}

void FusedTurns::Finish() { Drain(); }

// ---- the maker's

void FusedTurns::Make(Turn& turn) const {
  std::vector<std::vector<Made>> families(turn.inputs.size());
  ForEach(
      families.size(), threads_,
      [&](std::size_t i) {
        // Time is over: the turn is the last, if it runs at all.
        if (status_.stop != 0) turn.inputs[i].siblings = 0;
        families[i] = MakeFamily(turn.inputs[i], turn.weights);
      },
      1);
  turn.inputs.clear();
  for (std::vector<Made>& family : families) {
    std::move(family.begin(), family.end(), std::back_inserter(turn.made));
  }
}

std::vector<FusedTurns::Made> FusedTurns::MakeFamily(
    Input& input, const std::vector<std::uint32_t>& weights) const {
  std::vector<Made> family;
  input.fused.hash = CaseHash(*input.c);
  Steering steering = {.weights = weights};
  GeneratorOptions generator = generator_;
  if (generator.steering != nullptr) generator.steering = &steering;
  Choices choices(input.fused.hash + input.number);
  std::vector<Sibling> siblings =
      MakeSiblings(session_.checker().contracts(), input.fused.image,
                   input.fused.key, input.siblings, choices, generator);
  const std::string key = input.fused.key;
  family.reserve(1 + siblings.size());
  family.push_back({.c = std::move(input.c),
                    .canonical = std::move(input.canonical),
                    .made_for = input.made_for,
                    .fused = std::move(input.fused)});
  for (Sibling& sibling : siblings) {
    std::string bytes = CanonicalBinary(*sibling.c);
    // As the engine would have it.
    if (bytes.size() >= kMaxCaseBytes) continue;
    const std::uint64_t hash = CaseHash(*sibling.c);
    family.push_back(
        {.c = std::move(sibling.c),
         .canonical = std::move(bytes),
         .made_for = sibling.made_for,
         .fused = {
             .image = std::move(sibling.image), .key = key, .hash = hash}});
  }
  return family;
}

// ---- the caller's

void FusedTurns::Run(Turn& turn) {
  if (log_ != nullptr) {
    for (const Made& made : turn.made) log_->Append(made.canonical);
  }
  std::vector<Made> made = std::exchange(postponed_, {});
  std::move(turn.made.begin(), turn.made.end(), std::back_inserter(made));
  turn.made.clear();
  if (made.empty()) return;
  status_.Begin(made[0].canonical);
  std::vector<FusedInput> inputs;
  inputs.reserve(made.size());
  for (Made& m : made) {
    inputs.push_back({.image = std::move(m.fused.image),
                      .key = std::move(m.fused.key),
                      .hash = m.fused.hash});
  }
  std::vector<FusedResult> results;
  turn.error = checker_->Check(std::move(inputs), &results);
  turn.cpu_nanoseconds = status_.CpuSinceFirstCase();
  turn.calls = checker_->counts();
  turn.executions = session_.executions();
  for (std::size_t i = 0; turn.error.ok() && i < results.size(); ++i) {
    if (!results[i].postponed) {
      turn.made.push_back(std::move(made[i]));
      turn.results.push_back(std::move(results[i]));
      continue;
    }
    // Alone, since it has no key.
    made[i].fused.image = std::move(results[i].result.image);
    made[i].fused.key.clear();
    postponed_.push_back(std::move(made[i]));
  }
  status_.End();
}

// ---- the counter's

void FusedTurns::Count(Turn& turn) {
  if (turn.results.empty()) return;
  std::array<std::uint64_t, kKernels> executions;
  for (std::size_t k = 0; k < kKernels; ++k) {
    executions[k] = status_.executions[k];
  }
  CountCalls(turn.calls);
  std::vector<CaseCounts::Counted> counted;
  counted.reserve(turn.results.size());
  for (std::size_t i = 0; i < turn.results.size(); ++i) {
    counted.push_back({.result = &turn.results[i].result,
                       .hash = turn.made[i].fused.hash,
                       .made_for = turn.made[i].made_for});
  }
  counts_.Add(counted, status_.cases, threads_, &turn.semantics);
  turn.learnt = SteeringWeights(status_);
  for (std::size_t i = 0; i < turn.results.size(); ++i) {
    const CaseResult& result = turn.results[i].result;
    status_.Add(status_.cases);
    const auto count = [&] {
      for (const StepImage& step : result.image.steps) {
        if (!step.is_patch) ++executions[static_cast<std::size_t>(step.kernel)];
      }
    };
    count();
    if (AnyFails(result)) {
      // What finds something took the calls up to its case: all were made
      // before the first is counted.
      for (std::size_t k = 0; k < kKernels; ++k) {
        status_.executions[k].store(executions[k], std::memory_order_relaxed);
      }
      turn.error.Update(findings_.Record(result, turn.made[i].canonical,
                                         turn.cpu_nanoseconds));
      status_.Add(status_.heartbeat);
    }
    // Of a failure the second run confirms what the first has found.
    if (turn.results[i].judged_twice) count();
  }
  for (std::size_t k = 0; k < kKernels; ++k) {
    status_.executions[k].store(turn.executions[k] + turn.calls.shared[k],
                                std::memory_order_relaxed);
  }
  // Thousands of images: freed by all threads.
  ForEach(turn.results.size(), threads_, [&](std::size_t i) {
    turn.results[i] = FusedResult();
    turn.made[i] = Made();
  });
}

void FusedTurns::CountCalls(const FusedCounts& counts) {
  const auto set = [](WorkerStatus::Counter& to, std::uint64_t n) {
    to.store(n, std::memory_order_relaxed);
  };
  set(status_.fused, counts.fused);
  set(status_.fused_alone, counts.alone);
  set(status_.fused_calls, counts.calls);
  set(status_.fused_lent, counts.lent);
  set(status_.fused_rerun, counts.rerun);
  set(status_.fused_untold, counts.untold);
  set(status_.only_fused, counts.only_fused);
  set(status_.only_alone, counts.only_alone);
}

}  // namespace mlafuzz
