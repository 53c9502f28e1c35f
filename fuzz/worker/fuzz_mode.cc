#include "fuzz/worker/fuzz_mode.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/knobs.h"
#include "corpus/token_layout.h"
#include "fuzz/mutator/siblings.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/keep_memory.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/semantic_counters.h"
#include "fuzz/worker/steering.h"
#include "fuzz/worker/step_cause.h"
#include "kernels/foreign/executor.h"
#include "oracle/pool_history.h"
#include "oracle/validity.h"
#include "properties/fields.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_calls.h"
#include "properties/relations.h"

namespace mlafuzz {
namespace {

// InformativeFields costs one Expect a neighbour, tens of times a case.
constexpr std::uint64_t kCasesPerPowerSample = 64;
// One field of a case made for it costs a few.
constexpr std::uint64_t kMadePerSample = 4;
// Of a fused campaign: cases of one static configuration, an engine's input
// and its siblings. What depends on that configuration alone is met so much
// more rarely; calls hold at least so many cases.
constexpr std::uint64_t kFamily = 16;
// The first inputs, stored cases among them, come without siblings: what they
// show takes as many calls as in a campaign that fuses nothing. A GPU has done
// them in seconds, and all known wrong kernels are found among fewer.
constexpr std::uint64_t kWithoutSiblings = 8192;
// Lent memory takes a call's slack beside its bytes.
constexpr std::int64_t kLentBeside = std::int64_t{4} << 20;
// Bytes of images that wait.
constexpr std::int64_t kMostWaiting = std::int64_t{256} << 20;

std::size_t Index(Kernel kernel) { return static_cast<std::size_t>(kernel); }

}  // namespace

absl::StatusOr<std::unique_ptr<FuzzMode>> FuzzMode::Create(
    const WorkRequest& request, WorkerStatus& status) {
  std::unique_ptr<FuzzMode> mode(new FuzzMode(request, status));
  absl::StatusOr<std::unique_ptr<Session>> session =
      Session::Create(request.targets());
  if (!session.ok()) return session.status();
  mode->session_ = *std::move(session);
  const std::vector<Kernel> tested = KernelsUnderTest(request.targets());
  GeneratorOptions generator =
      GeneratorFor(std::vector<std::string>(request.kernels().begin(),
                                            request.kernels().end()),
                   mode->session_->targets(), tested);
  generator.steering = mode->generator_.steering;
  mode->generator_ = generator;
  mode->foreign_ = AnyForeign(request.targets());
  if (request.diff()) {
    auto diff = DiffPair::Create(request.targets(), request.other());
    if (!diff.ok()) return diff.status();
    mode->diff_ = *std::move(diff);
  }
  if (!request.case_log().empty()) {
    auto log = CaseLog::Open(request.case_log());
    if (!log.ok()) return log.status();
    mode->log_ = *std::move(log);
  }
  for (const std::string& cause : request.known_causes()) {
    mode->filter_.AddKnown(cause);
  }
  if (request.fuse() > 1) {
    KeepFreedMemory();
    Session& session_of = *mode->session_;
    FusedOptions options;
    options.most_cases = request.fuse();
    options.relations = &Session::CampaignOptions;
    options.progress = [&status] { status.Add(status.heartbeat); };
    if (auto* executor =
            dynamic_cast<ForeignExecutor*>(&session_of.executor())) {
      auto lent = LentCalls::Create(
          session_of.targets(), *executor,
          static_cast<std::uint64_t>(options.most_bytes + kLentBeside));
      if (lent.ok()) {
        mode->lent_ = *std::move(lent);
        options.lent = mode->lent_.get();
      } else if (!absl::IsFailedPrecondition(lent.status())) {
        // A GPU is there; calls take the longer way.
        std::fprintf(stderr, "shared calls are judged by the host: %s\n",
                     std::string(lent.status().message()).c_str());
      }
    }
    mode->fused_ = std::make_unique<FusedChecker>(
        session_of.checker(), session_of.targets(), session_of.executor(),
        std::move(options));
  }
  return mode;
}

bool FuzzMode::OneInput(absl::string_view bytes) {
  status_.Add(status_.inputs);
  // The engine runs what it made last; a stored case was made for nobody.
  const int made_for = std::exchange(steering_.made_for, -1);
  const absl::StatusOr<Case> c = ParseCase(bytes);
  if (!c.ok() || !CallsKernelUnderTest(*c)) {
    status_.Add(status_.rejected);
    return false;
  }
  // What is stored is the case, not the bytes that it came in: those may be
  // text, or spell out what is plain.
  const std::string canonical = CanonicalBinary(*c);
  if (fused_ != nullptr) return Fuse(*c, canonical, made_for);
  if (log_ != nullptr) log_->Append(canonical);
  status_.Begin(canonical);
  bool built;
  if (diff_ != nullptr) {
    absl::StatusOr<DiffResult> difference =
        diff_->Compare(*c, {.with_oracle = !request_.no_oracle(),
                            .within_bounds = request_.within_bounds()});
    built = difference.ok();
    if (built) {
      Count(difference->a);
      for (std::size_t i = 0; i < difference->decodes.size(); ++i) {
        const UlpCounts& ulps = difference->decodes[i];
        for (std::size_t k = 0; k < UlpCounts::kBuckets; ++k) {
          status_.Add(status_.decode_ulps[i][k], ulps.counts[k]);
        }
        const auto largest = static_cast<std::uint64_t>(ulps.largest);
        if (status_.decode_most_ulps[i].load() < largest) {
          status_.decode_most_ulps[i].store(largest);
        }
      }
      if (!difference->failure.key().empty()) {
        status_.Add(status_.failures);
        if (filter_.IsNew(Kernel::kWriter, "difference",
                          KeysOf(difference->failure))) {
          Write(difference->failure, canonical, nullptr);
        }
      }
    }
  } else {
    const absl::Status checked = session_->checker().CheckCase(
        *c, Session::CampaignOptions(*c), &result_);
    built = checked.ok();
    cpu_at_failure_ = status_.CpuSinceFirstCase();
    // Of a case that builds it is nobody's but the executor's: no runner
    // starts, say. Not to be counted as an input that is no case.
    if (!built && BuildImage(*c).ok()) error_ = checked;
    if (built) {
      if (foreign_) CountSemantics(result_);
      Count(result_);
      if (made_for >= 0) CountMadeFor(result_, made_for);
      Record(result_, canonical);
    }
  }
  if (!built) status_.Add(status_.rejected);
  status_.End();
  return built;
}

bool FuzzMode::Fuse(const Case& c, const std::string& canonical, int made_for) {
  if (!Wait(c, canonical, made_for)) {
    status_.Add(status_.rejected);
    return false;
  }
  const std::uint64_t fuse = request_.fuse();
  std::uint64_t siblings =
      status_.inputs <= kWithoutSiblings ? 0 : std::min(fuse, kFamily) - 1;
  if (request_.max_cases() != 0) {
    const std::uint64_t taken = status_.cases + waiting_.size();
    siblings = std::min(
        siblings, request_.max_cases() - std::min(request_.max_cases(), taken));
  }
  Choices choices(CaseHash(c) + status_.inputs);
  Siblings family =
      MakeSiblings(session_->checker().contracts(), c,
                   static_cast<std::size_t>(siblings), choices, generator_);
  for (std::size_t i = 0; i < family.cases.size(); ++i) {
    std::string bytes = CanonicalBinary(family.cases[i]);
    // As the engine would have it.
    if (bytes.size() >= kMaxCaseBytes) continue;
    Wait(std::move(family.cases[i]), std::move(bytes), family.made_for[i]);
  }
  if (waiting_.size() >= request_.fuse() || waiting_bytes_ >= kMostWaiting) {
    Flush();
  }
  return true;
}

bool FuzzMode::Wait(Case c, std::string canonical, int made_for) {
  Waiting waiting;
  waiting.c = std::make_unique<Case>(std::move(c));
  auto image = BuildImage(*waiting.c);
  if (!image.ok()) return false;
  if (log_ != nullptr) log_->Append(canonical);
  waiting.image = *std::move(image);
  waiting_bytes_ += FusedBytes(waiting.image);
  waiting.canonical = std::move(canonical);
  waiting.made_for = made_for;
  waiting_.push_back(std::move(waiting));
  return true;
}

void FuzzMode::Flush() {
  if (waiting_.empty()) return;
  std::vector<Waiting> waiting = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  std::vector<CaseImage> images;
  images.reserve(waiting.size());
  std::vector<char> alone;
  for (Waiting& w : waiting) {
    images.push_back(std::move(w.image));
    alone.push_back(w.alone);
  }
  status_.Begin(waiting[0].canonical);
  std::array<std::uint64_t, kKernels> executions;
  for (std::size_t k = 0; k < kKernels; ++k) {
    executions[k] = status_.executions[k];
  }
  std::vector<FusedResult> results;
  if (absl::Status s = fused_->Check(std::move(images), &results, alone);
      !s.ok()) {
    error_ = s;
    status_.End();
    return;
  }
  cpu_at_failure_ = status_.CpuSinceFirstCase();
  const FusedCounts& counts = fused_->counts();
  const auto set = [](WorkerStatus::Counter& to, std::uint64_t n) {
    to.store(n, std::memory_order_relaxed);
  };
  set(status_.fused, counts.fused);
  set(status_.fused_calls, counts.calls);
  set(status_.fused_lent, counts.lent);
  set(status_.fused_rerun, counts.rerun);
  set(status_.fused_untold, counts.untold);
  set(status_.only_fused, counts.only_fused);
  set(status_.only_alone, counts.only_alone);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i % kCasesPerPowerSample == 0) status_.Add(status_.heartbeat);
    if (results[i].postponed) {
      waiting[i].image = std::move(results[i].result.image);
      waiting[i].alone = true;
      waiting_bytes_ += FusedBytes(waiting[i].image);
      waiting_.push_back(std::move(waiting[i]));
      continue;
    }
    const CaseResult& result = results[i].result;
    if (foreign_) CountSemantics(result);
    // What finds something took the calls up to its case: all were made before
    // the first is counted.
    const auto count_calls = [&] {
      for (const StepImage& step : result.image.steps) {
        if (!step.is_patch) ++executions[Index(step.kernel)];
      }
      for (std::size_t k = 0; k < kKernels; ++k) {
        status_.executions[k].store(executions[k], std::memory_order_relaxed);
      }
    };
    count_calls();
    Count(result);
    if (waiting[i].made_for >= 0) CountMadeFor(result, waiting[i].made_for);
    Record(result, waiting[i].canonical);
    // Of a failure the second run confirms what the first has found.
    if (results[i].judged_twice) count_calls();
  }
  CountExecutions();
  status_.End();
}

// Stored cases of other kernels say nothing of the one under test.
bool FuzzMode::CallsKernelUnderTest(const Case& c) const {
  if (TokenLayoutOf(c.pool().layout()).layout != generator_.layout)
    return false;
  for (const Step& step : c.steps()) {
    if ((step.has_write() && generator_.writer) ||
        (step.has_gather() && generator_.gather) ||
        (step.has_convert() && generator_.convert) ||
        (step.has_decode() && generator_.decode)) {
      return true;
    }
  }
  return false;
}

void FuzzMode::Count(const CaseResult& result) {
  const std::uint64_t number = status_.cases;
  status_.Add(status_.cases);
  if (fused_ == nullptr) CountExecutions();
  const std::uint64_t hash = CaseHash(*result.image.source);
  std::bitset<kKernels> called;
  for (const StepImage& step : result.image.steps) {
    if (!step.is_patch) called.set(Index(step.kernel));
  }
  for (const Kernel kernel : kAllKernels) {
    if (!called.test(Index(kernel))) continue;
    status_.Add(status_.cases_of[Index(kernel)]);
    if (distinct_.Add(kernel, hash)) {
      status_.Add(status_.distinct[Index(kernel)]);
    }
  }
  const std::vector<Relation>& relations = AllRelations();
  for (const Check& check : result.checks) {
    status_.Add(status_.checks);
    status_.Add(status_.verdicts[static_cast<std::size_t>(check.verdict)]);
    if (check.verdict == Verdict::kPass || IsFailure(check.verdict)) {
      status_.Add(status_.informative);
    }
    for (std::size_t i = 0; i < relations.size() && i < kMaxRelations; ++i) {
      if (check.kernel == relations[i].kernel &&
          check.property == relations[i].name) {
        status_.Add(status_.relations[i]);
        break;
      }
    }
  }
  for (const int knob : ExercisedKnobs(result.image)) {
    if (static_cast<std::size_t>(knob) < kMaxKnobs) {
      status_.Add(status_.knobs[knob]);
    }
  }
  if (number % kCasesPerPowerSample == 0) CountPower(result);
}

void FuzzMode::CountExecutions() {
  const auto executions =
      diff_ != nullptr ? diff_->executions() : session_->executions();
  for (std::size_t k = 0; k < kKernels; ++k) {
    const std::uint64_t shared =
        fused_ != nullptr ? fused_->counts().shared[k] : 0;
    status_.executions[k].store(executions[k] + shared,
                                std::memory_order_relaxed);
  }
}

// What a case left, pools included.
Observation FuzzMode::WithPools(const CaseResult& result) const {
  Observation seen = result.observation;
  if (result.pools_left_out) {
    FillPools(session_->checker().contracts(), result.image, &seen);
  }
  return seen;
}

void FuzzMode::CountPower(const CaseResult& result) {
  status_.Add(status_.power_samples);
  const Contracts contracts = session_->checker().contracts();
  const Observation seen = WithPools(result);
  oracle::PoolHistory history(result.image, seen);
  for (std::size_t i = 0; i < result.observation.steps.size();
       ++i, history.Advance()) {
    if (!MayJudge(result, i)) continue;
    const Kernel kernel = result.image.steps[i].kernel;
    status_.Add(status_.power_steps[Index(kernel)]);
    for (const std::string& field :
         InformativeFields(*contracts[Index(kernel)], result.image,
                           static_cast<int>(i), history.before())) {
      const int at = FieldNumber(field);
      if (at >= 0 && static_cast<std::size_t>(at) < kMaxFields) {
        status_.Add(status_.power[at]);
      }
    }
  }
  steering_.weights = SteeringWeights(status_);
}

void FuzzMode::CountMadeFor(const CaseResult& result, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (at >= kMaxFields) return;
  const std::uint64_t made = status_.made_for[at];
  status_.Add(status_.made_for[at]);
  if (made % kMadePerSample != 0) return;
  status_.Add(status_.made_sampled[at]);
  const Field& field = AllFields()[at];
  const Contract* contract =
      session_->checker().contracts()[Index(field.kernel)];
  const Observation seen = WithPools(result);
  oracle::PoolHistory history(result.image, seen);
  for (std::size_t i = 0; i < result.observation.steps.size();
       ++i, history.Advance()) {
    if (result.image.steps[i].kernel != field.kernel || !MayJudge(result, i)) {
      continue;
    }
    if (IsInformative(*contract, result.image, static_cast<int>(i),
                      history.before(), field.name)) {
      status_.Add(status_.made_informative[at]);
      return;
    }
  }
}

// Whether a contract says anything of the step.
bool FuzzMode::MayJudge(const CaseResult& result, std::size_t step) const {
  const StepImage& s = result.image.steps[step];
  if (s.is_patch) return false;
  const Contract* contract = session_->checker().contracts()[Index(s.kernel)];
  if (contract == nullptr) return false;
  const Validity validity =
      Classify(*contract, result.image, static_cast<int>(step)).validity;
  return validity == Validity::kValid || validity == Validity::kBoundary;
}

void FuzzMode::Record(const CaseResult& result, absl::string_view bytes) {
  const CaseChecker& checker = session_->checker();
  std::bitset<kKernels> failed;
  for (const auto& checks : FailuresBySteps(result)) {
    status_.Add(status_.failures, checks.size());
    const Check& first = *checks[0];
    const bool later = failed.test(Index(first.kernel));
    failed.set(Index(first.kernel));
    if (!filter_.ShouldDiagnose(first.kernel, first.property)) {
      status_.Add(status_.undiagnosed, checks.size());
      continue;
    }
    std::vector<Failure> failures;
    std::vector<const Check*> of;  // one a failure
    for (const Check* check : checks) {
      for (Failure& failure :
           DescribeFailure(checker, result, *check, /*explain=*/false)) {
        failures.push_back(std::move(failure));
        of.push_back(check);
      }
    }
    const StepCause cause = CauseOfStep(failures, later, filter_);
    if (cause.what == StepCause::kEarlier) continue;
    const auto record = [&](std::size_t which) {
      Failure& failure = failures[which];
      failure.set_explanation(Explain(checker.contracts(), result.image,
                                      result.observation, *of[which]));
      Write(failure, bytes, &result);
    };
    filter_.IsNew(first.kernel, first.property, KeysOf(failures[cause.which]));
    if (cause.what == StepCause::kRecord) record(cause.which);
    // The other of two faults is one of its own, and may never show alone.
    const std::string beside = failures[cause.which].beside();
    for (std::size_t i = 0; !beside.empty() && i < failures.size(); ++i) {
      if (of[i] != of[cause.which] || failures[i].key() != beside) continue;
      if (filter_.IsNew(first.kernel, first.property, KeysOf(failures[i]))) {
        record(i);
      }
    }
  }
}

void FuzzMode::Write(const Failure& failure, absl::string_view bytes,
                     const CaseResult* result) {
  FindingRecord record;
  *record.mutable_failure() = failure;
  record.set_case_binary(std::string(bytes));
  for (std::size_t k = 0; k < kKernels; ++k) {
    record.add_executions(status_.executions[k]);
  }
  record.set_cases(status_.cases);
  if (result != nullptr) {
    record.set_earlier_calls(result->observation.earlier_calls);
    record.set_cpu_seconds(1e-9 * static_cast<double>(cpu_at_failure_));
  }
  const std::uint64_t number = status_.findings;
  // The supervisor takes them in the order of their names.
  const std::string path =
      absl::StrCat(request_.out(), "/", request_.job(), "-",
                   absl::Dec(number, absl::kZeroPad8), ".finding");
  // One that is not handed over is known here from now on: to go on would be to
  // pass over its cause.
  if (absl::Status s = WriteFileAtomically(path, record.SerializeAsString());
      !s.ok()) {
    error_ = absl::Status(
        s.code(),
        absl::StrCat("a finding could not be handed over: ", s.message(),
                     "; set TMPDIR to a folder with more room, the "
                     "same seed finds it again"));
    return;
  }
  status_.Add(status_.findings);
}

bool FuzzMode::ShouldStop() const {
  if (status_.stop != 0) return true;
  // Where no signal tells of the supervisor's death.
  if (getppid() != request_.supervisor()) return true;
  // Nothing to call.
  if (!generator_.writer && !generator_.gather && !generator_.convert &&
      !generator_.decode) {
    return true;
  }
  if (request_.max_cases() != 0 &&
      status_.cases + waiting_.size() >= request_.max_cases()) {
    return true;
  }
  if (request_.max_inputs() != 0 && status_.inputs >= request_.max_inputs()) {
    return true;
  }
  if (request_.max_cpu_seconds() > 0 &&
      1e-9 * static_cast<double>(status_.cpu_nanoseconds) >=
          request_.max_cpu_seconds()) {
    return true;
  }
  return request_.stop_on_first() && status_.findings != 0;
}

void FuzzMode::Finish() {
  // What was postponed is no longer waited for when time is over.
  do {
    Flush();
  } while (!waiting_.empty() && error_.ok() && status_.stop == 0 &&
           !(request_.stop_on_first() && status_.findings != 0));
  distinct_.Flush();
  status_.done.store(1, std::memory_order_release);
}

}  // namespace mlafuzz
