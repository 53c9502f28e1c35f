#include "kernels/foreign/runners.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "kernels/foreign/library_file.h"
#include "kernels/foreign/wire.h"
#include "kernels/target.h"

namespace mlafuzz {

void Runners::Lend(const LentMemory& memory, int device) {
  lent_ = {memory.descriptor(), memory.bytes()};
  lent_to_ = device;
  EndAll();
}

bool Runners::IsLentTo(const ForeignTarget& target) const {
  return lent_.fd >= 0 && target.program().lent_to == lent_to_;
}

void Runners::SetPatience(double times) {
  EndAll();
  patience_ = times;
  overran_ = false;
}

absl::StatusOr<const RunnerProcess*> Runners::Of(const ForeignTarget& target) {
  const auto runner = Started(target);
  if (!runner.ok()) return runner.status();
  return (*runner)->process.get();
}

absl::StatusOr<Runners::Runner*> Runners::Started(const ForeignTarget& target) {
  if (const auto found = runners_.find(target.name());
      found != runners_.end()) {
    return &found->second;
  }
  if (!target.file().path.empty()) {
    const std::string change = ChangeOf(target.file());
    if (!change.empty()) return absl::FailedPreconditionError(change);
  }
  RunnerLimits limits = target.limits();
  limits.call_seconds *= patience_;
  auto started =
      RunnerProcess::Start(target.program(), arena_.fd(), limits,
                           IsLentTo(target) ? lent_ : LentDescriptor());
  if (!started.ok()) return started.status();
  ++counts_.starts;
  Runner& runner = runners_[target.name()];
  runner.process = *std::move(started);
  return &runner;
}

absl::StatusOr<Runners::Outcome> Runners::Exchange(const ForeignTarget& target,
                                                   const WireEncoder& encoder) {
  const auto started = Started(target);
  if (!started.ok()) return started.status();
  Runner& runner = **started;
  Outcome outcome;
  outcome.earlier_calls = runner.calls;
  runner.calls += encoder.calls();
  outcome.death = RunTimed(target, *runner.process, encoder, &outcome.replies);
  const bool sanitized = !target.program().sanitizer.empty();
  if (sanitized) outcome.reports = runner.process->End();
  if (outcome.death.has_value()) ++counts_.deaths;
  if (sanitized || outcome.death.has_value()) runners_.erase(target.name());
  return outcome;
}

std::optional<RunnerProcess::Death> Runners::RunTimed(
    const ForeignTarget& target, RunnerProcess& runner,
    const WireEncoder& encoder, std::vector<RunnerProcess::Reply>* replies) {
  wire::Run run;
  run.capacity = GuardedArena::kCapacity;
  run.side = GuardedArena::kSide;
  run.low = arena_.low();
  run.scratch_bytes = target.description().scratch_bytes();
  run.calls = encoder.calls();
  std::string payload(reinterpret_cast<const char*>(&run), sizeof run);
  payload += encoder.bytes();
  const auto start = std::chrono::steady_clock::now();
  std::optional<RunnerProcess::Death> death =
      runner.Run(payload, encoder.calls(), replies);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  overran_ = overran_ || seconds > target.limits().call_seconds;
  counts_.exchange_seconds += seconds;
  counts_.busy_seconds += runner.busy_seconds();
  for (int stage = 0; stage < wire::kStages; ++stage) {
    counts_.stage_seconds[static_cast<std::size_t>(stage)] +=
        runner.stage_seconds(stage);
  }
  counts_.device_rate = runner.device_rate();
  counts_.in_rate = runner.in_rate();
  counts_.out_rate = runner.out_rate();
  return death;
}

CallStatus StatusOf(const RunnerProcess::Reply& reply) {
  switch (reply.status) {
    case MLAFUZZ_OK:
      return CallStatus::kOk;
    case MLAFUZZ_REFUSED:
      return CallStatus::kRefused;
    case MLAFUZZ_NOT_IMPLEMENTED:
      return CallStatus::kNotImplemented;
    // Nothing was called.
    case wire::kNoDeviceMemory:
    case wire::kNotCaptured:
      return CallStatus::kNotImplemented;
    default:
      return CallStatus::kError;
  }
}

}  // namespace mlafuzz
