#include "fuzz/worker/fuzz_mode.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/semantic_counters.h"
#include "fuzz/worker/steering.h"

namespace mlafuzz {

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
    auto diff =
        DiffPair::Create(request.targets(), request.other(),
                         {request.kernels().begin(), request.kernels().end()});
    if (!diff.ok()) return diff.status();
    mode->diff_ = *std::move(diff);
  }
  if (!request.case_log().empty()) {
    auto log = CaseLog::Open(request.case_log());
    if (!log.ok()) return log.status();
    mode->log_ = *std::move(log);
  }
  // Two incarnations of a job go on with one list.
  mode->counts_ = std::make_unique<CaseCounts>(
      mode->session_->checker(), status, request.out(), request.job() % 1000);
  mode->findings_ = std::make_unique<FindingLog>(
      mode->request_, mode->session_->checker(), status);
  if (request.fuse() > 1) {
    mode->turns_ = std::make_unique<FusedTurns>(
        mode->request_, *mode->session_, status, *mode->counts_,
        *mode->findings_, mode->log_.get(), mode->generator_);
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
  std::string canonical = CanonicalBinary(*c);
  bool built;
  if (turns_ != nullptr) {
    built = turns_->Add(*c, std::move(canonical), made_for);
    error_.Update(turns_->error());
  } else {
    if (log_ != nullptr) log_->Append(canonical);
    status_.Begin(canonical);
    built = diff_ != nullptr ? Compare(*c, canonical)
                             : Run(*c, canonical, made_for);
    status_.End();
  }
  if (!built) status_.Add(status_.rejected);
  return built;
}

bool FuzzMode::Run(const Case& c, const std::string& canonical, int made_for) {
  const absl::Status checked =
      session_->checker().CheckCase(c, Session::CampaignOptions(c), &result_);
  const std::uint64_t cpu = status_.CpuSinceFirstCase();
  if (!checked.ok()) {
    // Of a case that builds it is nobody's but the executor's: no runner
    // starts, say. Not to be counted as an input that is no case.
    if (BuildImage(c).ok()) error_ = checked;
    return false;
  }
  Count(result_, made_for);
  error_.Update(findings_->Record(result_, canonical, cpu));
  return true;
}

bool FuzzMode::Compare(const Case& c, const std::string& canonical) {
  absl::StatusOr<DiffResult> difference =
      diff_->Compare(c, {.with_oracle = !request_.no_oracle(),
                         .within_bounds = request_.within_bounds()});
  if (!difference.ok()) return false;
  Count(difference->a, -1);
  CountComparison(*difference, status_);
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
    error_.Update(findings_->RecordDifference(difference->failure, canonical));
  }
  return true;
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

void FuzzMode::Count(const CaseResult& result, int made_for) {
  CountExecutions();
  const std::uint64_t samples = status_.power_samples;
  SemanticCounts semantics;
  const bool shows = foreign_ && diff_ == nullptr;
  counts_->Add({{.result = &result,
                 .hash = CaseHash(*result.image.source),
                 .made_for = made_for}},
               status_.cases, 1, shows ? &semantics : nullptr);
  if (shows) semantics.Show();
  status_.Add(status_.cases);
  if (status_.power_samples != samples) {
    steering_.weights = SteeringWeights(status_);
  }
}

void FuzzMode::CountExecutions() {
  const auto executions =
      diff_ != nullptr ? diff_->executions() : session_->executions();
  for (std::size_t k = 0; k < kKernels; ++k) {
    status_.executions[k].store(executions[k], std::memory_order_relaxed);
  }
}

bool FuzzMode::ShouldStop() {
  if (status_.stop != 0) return true;
  // Where no signal tells of the supervisor's death.
  if (getppid() != request_.supervisor()) return true;
  // Nothing to call.
  if (!generator_.writer && !generator_.gather && !generator_.convert &&
      !generator_.decode) {
    return true;
  }
  if (turns_ == nullptr && request_.max_cases() != 0 &&
      status_.cases >= request_.max_cases()) {
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
  if (request_.stop_on_first() && status_.findings != 0) return true;
  return turns_ != nullptr && turns_->HasAllCases();
}

void FuzzMode::Finish() {
  if (turns_ != nullptr) {
    turns_->Finish();
    error_.Update(turns_->error());
  }
  counts_->Flush();
  status_.done.store(1, std::memory_order_release);
}

}  // namespace mlafuzz
