#include "fuzz/worker/bench_mode.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/knobs.h"
#include "fuzz/mutator/mutator.h"
#include "fuzz/worker/bench_cases.h"
#include "fuzz/worker/bench_fused.h"
#include "fuzz/worker/bench_kills.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/kernel_call.h"
#include "fuzz/worker/session.h"
#include "kernels/foreign/executor.h"
#include "kernels/foreign/wire.h"
#include "oracle/judge.h"

namespace mlafuzz {
namespace {

// Seconds that this process has had of a processor: other tenants of a shared
// machine come and go.
double ProcessSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

// Median over rounds of the processor time of one call, in ns. A median,
// because those tenants share caches too.
double Time(double seconds, const std::function<void()>& call) {
  constexpr int kRounds = 5;
  // Reading the clock costs half a microsecond.
  constexpr double kLongCall = 1e-4;
  double start = ProcessSeconds();
  call();
  const int batch = ProcessSeconds() - start > kLongCall ? 1 : 16;
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t calls = 0;
    start = ProcessSeconds();
    double elapsed;
    do {
      for (int i = 0; i < batch; ++i) call();
      calls += static_cast<std::uint64_t>(batch);
      elapsed = ProcessSeconds() - start;
    } while (elapsed < seconds / kRounds);
    rounds.push_back(elapsed * 1e9 / static_cast<double>(calls));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

// The same by the wall clock, of calls that another process makes: the best
// round, so that a neighbour's noise does not count.
double WallTime(double seconds, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 5;
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  call();
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t calls = 0;
    const Clock::time_point start = Clock::now();
    do {
      call();
      ++calls;
    } while (elapsed(start) < seconds / kRounds);
    best = std::min(best, elapsed(start) / static_cast<double>(calls));
  }
  return best * 1e9;
}

// Of the line through (log size, log time) that fits best.
double LogLogSlope(const BenchResult::Growth& growth) {
  const int n = growth.sizes_size();
  double x = 0, y = 0, xx = 0, xy = 0;
  for (int i = 0; i < n; ++i) {
    const double log_size = std::log(growth.sizes(i));
    const double log_time = std::log(growth.nanoseconds(i));
    x += log_size;
    y += log_time;
    xx += log_size * log_size;
    xy += log_size * log_time;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

class Bench {
 public:
  Bench(Session& session, double seconds, BenchResult& result)
      : session_(session), seconds_(seconds), result_(result) {}

  void Add(const std::string& name, const std::function<void()>& call) {
    const double ns = Time(seconds_, call);
    BenchResult::Timing& timing = *result_.add_timings();
    timing.set_name(name);
    timing.set_nanoseconds(ns);
    timing.set_per_second(1e9 / ns);
  }

  absl::Status Kernel(const std::string& name, const Case& c) {
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    if (!image.ok()) return image.status();
    KernelCall bare(session_.targets(), *image);
    Add(name + "/kernel", [&] { bare.Run(); });
    std::vector<Observation> seen;
    Add(name + "/stage+kernel", [&] {
      seen.clear();
      (void)session_.executor().Run(session_.targets(), {&*image, 1}, &seen);
    });
    const Contracts contracts = session_.checker().contracts();
    Add(name + "/judge", [&] { (void)Judge(contracts, *image, seen[0]); });
    Add(name + "/stage+kernel+judge", [&] {
      std::vector<Observation> now;
      (void)session_.executor().Run(session_.targets(), {&*image, 1}, &now);
      (void)Judge(contracts, *image, now[0]);
    });
    const std::string bytes = CanonicalBinary(c);
    Add(name + "/parse", [&] { (void)ParseCase(bytes); });
    Add(name + "/build image", [&] { (void)BuildImage(c); });
    Add(name + "/hash", [&] { (void)CaseHash(c); });
    Add(name + "/knobs", [&] { (void)ExercisedKnobs(*image); });
    GeneratorOptions generator;
    generator.writer = name == "writer";
    generator.gather = name == "gather";
    generator.convert = false;
    generator.decode = name == "decode";
    std::uint64_t seed = 0;
    Add(name + "/mutate", [&] {
      Choices choices(++seed);
      Case mutated = c;
      MutateCase(mutated, choices, generator);
    });
    Add(name + "/whole check", [&] {
      CaseResult checked;
      (void)session_.checker().CheckCase(c, CheckOptions(), &checked);
    });
    return absl::OkStatus();
  }

  // Kernels in a process of their own: what a case costs by the clock, in
  // batches.
  absl::Status Apart(const std::string& name, const Case& c,
                     const ForeignExecutor& executor) {
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    if (!image.ok()) return image.status();
    const Contracts contracts = session_.checker().contracts();
    for (const std::size_t batch : {1, 64, 256}) {
      const std::vector<CaseImage> images(batch, *image);
      std::vector<Observation> seen;
      const std::string row = absl::StrCat(name, "/batch ", batch);
      const auto bridge = [&executor] {
        const RunnerCounts counts = executor.counts();
        return counts.busy_seconds == 0
                   ? 0
                   : counts.exchange_seconds - counts.busy_seconds;
      };
      const auto add = [&](const std::string& what, double ns) {
        BenchResult::Timing& timing = *result_.add_timings();
        timing.set_name(absl::StrCat(row, "/", what));
        timing.set_nanoseconds(ns / static_cast<double>(batch));
        timing.set_per_second(1e9 / timing.nanoseconds());
      };
      absl::Status ran;
      const auto run = [&] {
        if (ran.ok()) {
          ran = session_.executor().Run(session_.targets(), images, &seen);
        }
      };
      run();  // which may start a runner
      const double before = bridge();
      const auto start = std::chrono::steady_clock::now();
      add("stage+kernel", WallTime(seconds_, run));
      result_.mutable_timings()->rbegin()->set_bridge(
          (bridge() - before) / std::chrono::duration<double>(
                                    std::chrono::steady_clock::now() - start)
                                    .count());
      add("stage+kernel+judge", WallTime(seconds_, [&] {
            run();
            for (std::size_t i = 0; ran.ok() && i < batch; ++i) {
              (void)Judge(contracts, images[i], seen[i]);
            }
          }));
      if (!ran.ok()) return ran;
    }
    return absl::OkStatus();
  }

  // How kernel and judge grow with a size of a decode.
  absl::Status Growth(const std::string& what,
                      const std::vector<std::uint32_t>& sizes,
                      const std::function<Case(std::uint32_t)>& case_of,
                      WorkerStatus& status) {
    BenchResult::Growth kernel, judge;
    const std::string range =
        absl::StrCat(what, " ", sizes.front(), "..", sizes.back());
    kernel.set_name(absl::StrCat("decode/stage+kernel, ", range));
    judge.set_name(absl::StrCat("decode/judge, ", range));
    const Contracts contracts = session_.checker().contracts();
    for (const std::uint32_t size : sizes) {
      status.Add(status.heartbeat);
      const Case c = case_of(size);
      const absl::StatusOr<CaseImage> image = BuildImage(c);
      if (!image.ok()) return image.status();
      std::vector<Observation> seen;
      kernel.add_sizes(size);
      kernel.add_nanoseconds(Time(seconds_, [&] {
        seen.clear();
        (void)session_.executor().Run(session_.targets(), {&*image, 1}, &seen);
      }));
      judge.add_sizes(size);
      judge.add_nanoseconds(
          Time(seconds_, [&] { (void)Judge(contracts, *image, seen[0]); }));
    }
    kernel.set_slope(LogLogSlope(kernel));
    judge.set_slope(LogLogSlope(judge));
    *result_.add_growths() = std::move(kernel);
    *result_.add_growths() = std::move(judge);
    return absl::OkStatus();
  }

 private:
  Session& session_;
  double seconds_;
  BenchResult& result_;
};

}  // namespace

absl::Status RunBench(const WorkRequest& request, WorkerStatus& status) {
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  BenchResult result;
  const double seconds = request.seconds() > 0 ? request.seconds() : 1;
  Bench bench(**session, seconds, result);
  status.Add(status.heartbeat);
  if (request.fuse() > 0) {
    if (absl::Status s = BenchOneBatch(
            **session, static_cast<ForeignExecutor&>((*session)->executor()),
            request.fuse(), static_cast<int>(request.threads()), seconds,
            [&status] { status.Add(status.heartbeat); }, result);
        !s.ok()) {
      return s;
    }
    return WriteFileAtomically(absl::StrCat(request.out(), "/bench.result"),
                               result.SerializeAsString());
  }
  if (AnyForeign(request.targets())) {
    const std::tuple<const char*, Kernel, Case> cases[] = {
        {"writer", Kernel::kWriter, OneTokenWrite(0)},
        {"gather", Kernel::kGather, OneRowGather(0)},
        {"convert", Kernel::kConvert, OneRowConvert(64, 0)},
        {"decode", Kernel::kDecode, OneQueryDecode(1, 64, 0)}};
    // Of targets in processes of their own.
    const auto& executor =
        static_cast<const ForeignExecutor&>((*session)->executor());
    for (const auto& [name, kernel, c] : cases) {
      status.Add(status.heartbeat);
      // The time of a call that is not made says nothing.
      if (!(*session)->targets().For(kernel)->Implements(kernel)) continue;
      if (absl::Status s = bench.Apart(name, c, executor); !s.ok()) return s;
    }
    // How cases may share calls is said for one layout.
    if (LayoutOf((*session)->targets(), {Kernel::kWriter}) == FP8_DS_MLA) {
      // Read by runners when they start: telling takes time, too.
      setenv(wire::kStageTimesVariable, "1", /*overwrite=*/1);
      auto timed = Session::Create(request.targets());
      if (!timed.ok()) return timed.status();
      if (absl::Status s = BenchFused(
              **timed, static_cast<ForeignExecutor&>((*timed)->executor()),
              seconds, [&status] { status.Add(status.heartbeat); }, result);
          !s.ok()) {
        return s;
      }
      // The project's own on a GPU: its wrong ones are there as well.
      if (request.targets().all() == absl::StrCat(kOnDevice, "builtin")) {
        if (absl::Status s = BenchKills(
                request.targets(), [&status] { status.Add(status.heartbeat); },
                result);
            !s.ok()) {
          return s;
        }
      }
    }
    return WriteFileAtomically(absl::StrCat(request.out(), "/bench.result"),
                               result.SerializeAsString());
  }
  if (absl::Status s = bench.Kernel("writer", OneTokenWrite(0)); !s.ok()) {
    return s;
  }
  status.Add(status.heartbeat);
  if (absl::Status s = bench.Kernel("gather", OneRowGather(0)); !s.ok()) {
    return s;
  }
  status.Add(status.heartbeat);
  if (absl::Status s = bench.Kernel("decode", OneQueryDecode(1, 64, 0));
      !s.ok()) {
    return s;
  }
  if (absl::Status s = bench.Growth(
          "keys", {64, 128, 256, 512, 1024, 2048, 4096},
          [](std::uint32_t keys) { return OneQueryDecode(1, keys, 0); },
          status);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = bench.Growth(
          "heads", {1, 2, 4, 8, 16, 32, 64},
          [](std::uint32_t heads) { return OneQueryDecode(heads, 64, 0); },
          status);
      !s.ok()) {
    return s;
  }
  return WriteFileAtomically(absl::StrCat(request.out(), "/bench.result"),
                             result.SerializeAsString());
}

}  // namespace mlafuzz
