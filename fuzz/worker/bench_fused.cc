#include "fuzz/worker/bench_fused.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/image.h"
#include "fuzz/worker/bench_cases.h"
#include "fuzz/worker/keep_memory.h"
#include "kernels/foreign/wire.h"
#include "oracle/judge.h"
#include "properties/fused/for_each.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_calls.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

// Of one call: the arena holds 2 GiB, and a worker a few copies.
constexpr std::int64_t kMostBytes = std::int64_t{640} << 20;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Work {
  const char* name;
  Kernel kernel;
  Case (*make)(std::uint64_t seed);
  // That a kernel has to read and write, a case: its own rows and lists.
  std::uint64_t kernel_bytes;
};

const Work kWorks[] = {
    // 512 and 64 values of 16 bits, a slot; a row.
    {"writer", Kernel::kWriter, &OneTokenWrite, 2 * 576 + 8 + 656},
    // A row, a page number, a start; 576 values.
    {"gather", Kernel::kGather, &OneRowGather, 656 + 4 + 4 + 2 * 576},
    // 64 indices, 16 page numbers, a request; 64 slots, a count.
    {"convert", Kernel::kConvert, &OneRowConvert, 4 * (64 + 16 + 1 + 64 + 1)},
    // 64 rows and their numbers, 576 values of q; 512 values, an LSE.
    {"decode", Kernel::kDecode,
     [](std::uint64_t seed) { return OneQueryDecode(1, 64, seed); },
     64 * (656 + 4) + 2 * 576 + 2 * 512 + 4},
};

// The stages of one call.
struct Stages {
  double lay = 0;
  double run = 0;
  double judge = 0;
  bool lent = false;
  double copy = 0;    // of `run`, on lent memory
  double oracle = 0;  // likewise: judging decodes on the device
  std::uint64_t passed_on_device = 0;
  std::uint64_t copied_bytes = 0;
  RunnerCounts before;
  RunnerCounts after;

  double all() const { return lay + run + judge; }
  double device(int stage) const {
    const auto at = static_cast<std::size_t>(stage);
    return after.stage_seconds[at] - before.stage_seconds[at];
  }
  double exchange() const {
    return after.exchange_seconds - before.exchange_seconds;
  }
};

class FusedBench {
 public:
  FusedBench(Session& session, ForeignExecutor& executor, LentCalls* lent,
             double seconds, const std::function<void()>& progress)
      : session_(session),
        executor_(executor),
        lent_(lent),
        seconds_(seconds),
        progress_(progress),
        contracts_(session.checker().contracts()) {}

  absl::StatusOr<BenchResult::Fused> Time(const Work& work, std::size_t batch) {
    BenchResult::Fused fused;
    fused.set_kernel(work.name);
    fused.set_batch(static_cast<std::uint32_t>(batch));
    fused.set_judging_threads(threads_);
    progress_();
    cases_.resize(batch);
    images_.assign(batch, {});
    {
      const auto one = BuildImage(work.make(0));
      if (!one.ok()) return one.status();
      const std::int64_t bytes =
          FusedBytes(*one) * static_cast<std::int64_t>(batch);
      if (bytes > kMostBytes) {
        fused.set_left_out(absl::StrCat(bytes >> 20, " MiB a call; at most ",
                                        kMostBytes >> 20));
        return fused;
      }
    }
    ForEach(batch, threads_, [&](std::size_t i) {
      cases_[i] = work.make(i);
      images_[i] = *BuildImage(cases_[i]);
    });
    std::optional<Stages> best;
    const Clock::time_point start = Clock::now();
    // The first warms up: a runner, pinned memory, the device's.
    for (int round = 0; round < 2 || SecondsSince(start) < seconds_; ++round) {
      progress_();
      auto stages = Call();
      if (!stages.ok()) return stages.status();
      if (round == 0) continue;
      if (!best.has_value() || stages->all() < best->all()) best = *stages;
    }
    fused.set_cases_per_second(static_cast<double>(batch) / best->all());
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
      // Copies go on beside what the host works out.
      fused.set_wait(
          std::max(0.0, best->run - best->copy - best->oracle - kernel));
      fused.set_oracle(best->oracle);
      fused.set_passed_on_device(
          static_cast<std::uint32_t>(best->passed_on_device));
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

 private:
  // One call that all images share. An error if any of them is wrong.
  absl::StatusOr<Stages> Call() {
    Stages stages;
    std::vector<Observation> seen;
    Clock::time_point start = Clock::now();
    std::optional<FusedCase> fused;
    CaseImage image;
    if (images_.size() > 1) {
      std::vector<const CaseImage*> members;
      for (const CaseImage& member : images_) members.push_back(&member);
      fused.emplace(std::move(members));
      if (lent_ != nullptr) {
        stages.lay = SecondsSince(start);
        return OnLentMemory(*fused, stages);
      }
      image = fused->Lay(threads_);
    }
    stages.lay = SecondsSince(start);
    start = Clock::now();
    stages.before = executor_.counts();
    if (absl::Status s = session_.executor().Run(
            session_.targets(), {fused.has_value() ? &image : &images_[0], 1},
            &seen);
        !s.ok()) {
      return s;
    }
    stages.after = executor_.counts();
    stages.run = SecondsSince(start);
    start = Clock::now();
    if (fused.has_value()) {
      auto split = fused->Split(seen[0], threads_);
      if (!split.ok()) return split.status();
      seen = *std::move(split);
    }
    stages.lay += SecondsSince(start);
    start = Clock::now();
    std::vector<char> wrong(images_.size(), 0);
    ForEach(images_.size(), threads_, [&](std::size_t i) {
      for (const Check& check : Judge(contracts_, images_[i], seen[i])) {
        if (IsFailure(check.verdict)) wrong[i] = 1;
      }
    });
    stages.judge = SecondsSince(start);
    const auto first = std::find(wrong.begin(), wrong.end(), 1);
    if (first != wrong.end()) {
      return absl::InternalError(absl::StrCat(
          "case ", first - wrong.begin(), " of ", wrong.size(),
          " in one call is wrong: the time of a wrong kernel says nothing"));
    }
    return stages;
  }

  absl::StatusOr<Stages> OnLentMemory(const FusedCase& fused, Stages stages) {
    const LentCalls::Times times = lent_->times();
    const std::uint64_t bytes = lent_->copied_bytes();
    const std::uint64_t passed = lent_->decodes_passed();
    stages.lent = true;
    stages.before = executor_.counts();
    const auto result = lent_->Run(fused, contracts_, threads_);
    if (!result.ok()) return result.status();
    stages.after = executor_.counts();
    if (!result->as_expected) {
      return absl::InternalError(
          absl::StrCat("a call on lent memory ",
                       result->why_not.empty() ? "is wrong" : result->why_not,
                       ": the time of a wrong kernel says nothing"));
    }
    const LentCalls::Times& now = lent_->times();
    stages.lay += now.lay - times.lay;
    stages.judge = now.expect - times.expect + now.judge - times.judge;
    stages.run = now.wait - times.wait;
    stages.copy = now.copy - times.copy;
    stages.copied_bytes = lent_->copied_bytes() - bytes;
    stages.oracle = now.judge_on_device - times.judge_on_device;
    stages.passed_on_device = lent_->decodes_passed() - passed;
    for (const std::vector<Check>& checks : result->checks) {
      for (const Check& check : checks) {
        if (IsFailure(check.verdict)) {
          return absl::InternalError(
              absl::StrCat("a decode on lent memory is wrong: ", check.detail));
        }
      }
    }
    return stages;
  }

  Session& session_;
  const ForeignExecutor& executor_;
  LentCalls* const lent_;  // null: bytes travel to the runner and back
  double seconds_;
  const std::function<void()>& progress_;
  const Contracts contracts_;
  const int threads_ =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<Case> cases_;  // images point to them
  std::vector<CaseImage> images_;
};

}  // namespace

absl::Status BenchFused(Session& session, ForeignExecutor& executor,
                        double seconds, const std::function<void()>& progress,
                        BenchResult& result) {
  auto lent = LentCalls::Create(session.targets(), executor,
                                static_cast<std::uint64_t>(2 * kMostBytes));
  if (!lent.ok()) result.set_not_lent(std::string(lent.status().message()));
  FusedBench bench(session, executor, lent.ok() ? lent->get() : nullptr,
                   seconds, progress);
  KeepFreedMemory();
  // The largest last: a runner keeps the memory of its largest call, and
  // compares all of it.
  for (const std::size_t batch : {1, 16, 256, 4096, 65536}) {
    for (const Work& work : kWorks) {
      if (!session.targets().For(work.kernel)->Implements(work.kernel)) {
        continue;
      }
      auto fused = bench.Time(work, batch);
      if (!fused.ok()) return fused.status();
      *result.add_fused() = *std::move(fused);
    }
  }
  const RunnerCounts counts = executor.counts();
  result.set_device_rate(counts.device_rate);
  result.set_in_rate(counts.in_rate);
  result.set_out_rate(counts.out_rate);
  return absl::OkStatus();
}

}  // namespace mlafuzz
