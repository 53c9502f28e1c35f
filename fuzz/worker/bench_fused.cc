#include "fuzz/worker/bench_fused.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/foreign/wire.h"
#include "properties/fused/for_each.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status FirstFailure(const std::vector<Check>& checks, std::size_t at,
                          std::size_t of) {
  for (const Check& check : checks) {
    if (!IsFailure(check.verdict)) continue;
    return absl::InternalError(absl::StrCat(
        "case ", at, " of ", of, " in one call is wrong (", check.property,
        ": ", check.detail, "): the time of a wrong kernel says nothing"));
  }
  return absl::OkStatus();
}

}  // namespace

// Seconds of one call.
struct FusedBench::Stages {
  double all = 0;  // by the wall clock, to the last object that is put away
  double lay = 0;
  double run = 0;
  double judge = 0;
  bool lent = false;
  double copy = 0;    // of `run`, on lent memory
  double oracle = 0;  // likewise: the oracle's own work on the device
  std::uint64_t passed_on_device = 0;
  std::uint64_t copied_bytes = 0;
  RunnerCounts before;
  RunnerCounts after;

  double device(int stage) const {
    const auto at = static_cast<std::size_t>(stage);
    return after.stage_seconds[at] - before.stage_seconds[at];
  }
  double exchange() const {
    return after.exchange_seconds - before.exchange_seconds;
  }
};

FusedBench::FusedBench(Session& session, const ForeignExecutor& executor,
                       LentCalls* lent, double seconds, int threads,
                       const std::function<void()>& progress)
    : session_(session),
      executor_(executor),
      lent_(lent),
      seconds_(seconds),
      progress_(progress),
      contracts_(session.checker().contracts()),
      threads_(threads > 0
                   ? threads
                   : std::max(1, static_cast<int>(
                                     std::thread::hardware_concurrency()))) {}

absl::StatusOr<BenchResult::Fused> FusedBench::Time(const FusedWork& work,
                                                    std::size_t batch) {
  BenchResult::Fused fused;
  fused.set_kernel(work.kernel);
  fused.set_batch(static_cast<std::uint32_t>(batch));
  fused.set_judging_threads(threads_);
  progress_();
  next_.reset();
  cases_.resize(batch);
  images_.assign(batch, {});
  {
    const Case first = work.make(0);
    const auto one = BuildImage(first);
    if (!one.ok()) return one.status();
    const std::int64_t bytes =
        FusedBytes(*one) * static_cast<std::int64_t>(batch);
    if (bytes > kMostBytes) {
      fused.set_left_out(
          absl::StrCat(bytes >> 20, " MiB a call; at most ", kMostBytes >> 20));
      return fused;
    }
  }
  ForEach(batch, threads_, [&](std::size_t i) {
    cases_[i] = work.make(i);
    images_[i] = *BuildImage(cases_[i]);
  });
  std::optional<Stages> best;
  double all = 0;
  int rounds = 0;
  const Clock::time_point start = Clock::now();
  // The first warms up: a runner, pinned memory, the device's.
  for (int round = 0; round < 2 || SecondsSince(start) < seconds_; ++round) {
    progress_();
    auto stages = Call();
    if (!stages.ok()) return stages.status();
    if (round == 0) continue;
    all += stages->all;
    ++rounds;
    if (!best.has_value() || stages->all < best->all) best = *stages;
  }
  fused.set_cases_per_second(static_cast<double>(batch) / best->all);
  fused.set_mean_cases_per_second(static_cast<double>(batch) * rounds / all);
  fused.set_lay(best->lay);
  const double host =
      best->device(wire::kStageHostIn) + best->device(wire::kStageHostOut);
  const double copy =
      best->device(wire::kStageCopyIn) + best->device(wire::kStageCopyOut);
  const double kernel = best->device(wire::kStageKernel);
  fused.set_kernel_seconds(kernel);
  fused.set_judge(best->judge);
  fused.set_lent(best->lent);
  if (best->lent) {
    fused.set_copy(best->copy);
    fused.set_oracle(best->oracle);
    fused.set_passed_on_device(
        static_cast<std::uint32_t>(best->passed_on_device));
    // Copies go on beside what the host works out.
    fused.set_wait(
        std::max(0.0, best->run - best->copy - best->oracle - kernel));
    fused.set_copied_bytes(best->copied_bytes);
  } else {
    fused.set_stage(best->run - best->exchange() + host);
    fused.set_copy(copy);
    fused.set_wait(best->exchange() - host - copy - kernel);
    std::int64_t bytes = 0;
    for (const CaseImage& image : images_) bytes += FusedBytes(image);
    fused.set_copied_bytes(2 * static_cast<std::uint64_t>(bytes));
  }
  fused.set_kernel_bytes(work.kernel_bytes * batch);
  return fused;
}

std::unique_ptr<const FusedCase> FusedBench::Together() const {
  std::vector<const CaseImage*> members;
  members.reserve(images_.size());
  for (const CaseImage& member : images_) members.push_back(&member);
  return std::make_unique<const FusedCase>(std::move(members));
}

// One call that all images share; on lent memory the next one is laid beside
// it, as in a campaign.
absl::StatusOr<FusedBench::Stages> FusedBench::Call() {
  Stages stages;
  const Clock::time_point start = Clock::now();
  absl::Status status;
  if (images_.size() == 1) {
    status = OnOwnMemory(nullptr, &stages);
  } else {
    const std::unique_ptr<const FusedCase> fused =
        next_ != nullptr ? std::move(next_) : Together();
    if (lent_ != nullptr) next_ = Together();
    stages.lay = SecondsSince(start);
    status = lent_ != nullptr ? OnLentMemory(*fused, &stages)
                              : OnOwnMemory(fused.get(), &stages);
  }
  stages.all = SecondsSince(start);
  if (!status.ok()) return status;
  return stages;
}

absl::Status FusedBench::OnOwnMemory(const FusedCase* fused, Stages* stages) {
  Clock::time_point start = Clock::now();
  CaseImage image;
  if (fused != nullptr) image = fused->Lay(threads_);
  stages->lay += SecondsSince(start);
  start = Clock::now();
  stages->before = executor_.counts();
  std::vector<Observation> seen;
  if (absl::Status s = session_.executor().Run(
          session_.targets(), {fused != nullptr ? &image : &images_[0], 1},
          &seen);
      !s.ok()) {
    return s;
  }
  stages->after = executor_.counts();
  stages->run = SecondsSince(start);
  start = Clock::now();
  if (fused != nullptr) {
    auto split = fused->Split(seen[0], threads_);
    if (!split.ok()) return split.status();
    seen = *std::move(split);
  }
  stages->lay += SecondsSince(start);
  start = Clock::now();
  std::vector<absl::Status> wrong(images_.size());
  ForEach(images_.size(), threads_, [&](std::size_t i) {
    wrong[i] =
        FirstFailure(Judge(contracts_, images_[i], seen[i]), i, images_.size());
  });
  stages->judge = SecondsSince(start);
  for (const absl::Status& s : wrong) {
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status FusedBench::OnLentMemory(const FusedCase& fused, Stages* stages) {
  const LentCalls::Times times = lent_->times();
  const std::uint64_t bytes = lent_->copied_bytes();
  const std::uint64_t passed = lent_->decodes_passed();
  stages->lent = true;
  stages->before = executor_.counts();
  auto result = lent_->Run(fused, contracts_, threads_, next_.get());
  if (!result.ok()) return result.status();
  stages->after = executor_.counts();
  if (!result->as_expected) {
    return absl::InternalError(
        absl::StrCat("a call on lent memory ",
                     result->why_not.empty() ? "is wrong" : result->why_not,
                     ": the time of a wrong kernel says nothing"));
  }
  const LentCalls::Times& now = lent_->times();
  stages->lay += now.lay - times.lay;
  stages->judge = now.expect - times.expect + now.judge - times.judge;
  stages->run = now.wait - times.wait;
  stages->copy = now.copy - times.copy;
  stages->oracle = now.oracle - times.oracle;
  stages->passed_on_device = lent_->decodes_passed() - passed;
  stages->copied_bytes = lent_->copied_bytes() - bytes;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    absl::Status s = FirstFailure(result->ChecksOf(i), i, images_.size());
    if (!s.ok()) return s;
  }
  // What is known of cases is put away by all threads, too.
  const Clock::time_point start = Clock::now();
  ForEach(images_.size(), threads_, [&result](std::size_t i) {
    std::vector<Check>().swap(result->own_checks[i]);
    result->observations[i] = {};
  });
  stages->judge += SecondsSince(start);
  return absl::OkStatus();
}

}  // namespace mlafuzz
