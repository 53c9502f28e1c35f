// mlafuzz bench

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/process.h"
#include "fuzz/campaign/report.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/bench_devices.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/device_flags.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/foreign.h"

namespace mlafuzz {
namespace {

// Executions a second of an empty libFuzzer target of the flavour, start
// included, over a run that is long enough for that not to matter.
absl::StatusOr<double> EmptyTarget(const std::string& flavour) {
  constexpr int kRuns = 5'000'000;
  const auto path = FindEmptyTarget(flavour);
  if (!path.ok()) return path.status();
  const auto start = std::chrono::steady_clock::now();
  auto process = Process::Spawn(
      {*path, absl::StrCat("-runs=", kRuns), "-verbosity=0"}, {});
  if (!process.ok()) return process.status();
  for (;;) {
    (*process)->ReadOutput();
    if (const auto exit = (*process)->Poll()) {
      if (exit->code != 0 || exit->signal != 0) {
        return absl::InternalError("the empty target failed");
      }
      break;
    }
    usleep(1000);
  }
  return kRuns /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
             .count();
}

// Cases a second of a whole campaign of one job from nothing.
absl::StatusOr<double> WholeCampaign(const Engine& engine,
                                     const std::string& kernel,
                                     double seconds) {
  auto out = ScratchFolder::Create();
  if (!out.ok()) return out.status();
  CampaignOptions options;
  options.engine = engine;
  options.targets.set_all("builtin");
  options.kernels = {kernel};
  options.seed = 1;
  options.seconds = seconds;
  options.out = out->path();
  options.quiet = true;
  options.follow_up = false;
  const auto result = RunCampaign(options);
  if (!result.ok()) return result.status();
  if (result->interrupted) return absl::CancelledError("stopped by a signal");
  return static_cast<double>(result->totals.cases) / result->seconds;
}

void Row(const std::string& name, double per_second, double empty) {
  std::printf("  %-30s %12.0f/s %10.2f us %9.2f%%\n", name.c_str(), per_second,
              1e6 / per_second, 100 * per_second / empty);
}

// Cases a call, of which docs/performance.md has a line.
constexpr std::uint32_t kFusedLine = 4096;

// Work is linear in the keys and the heads; a slope above this is not.
constexpr double kLinear = 1.05;

void PrintGrowth(const BenchResult::Growth& growth) {
  std::printf("  %-42s grows as n^%.2f%s:", growth.name().c_str(),
              growth.slope(),
              growth.slope() > kLinear ? ", MORE THAN LINEAR" : "");
  for (const double ns : growth.nanoseconds()) std::printf(" %.4g", ns / 1e3);
  std::printf(" us\n");
}

// The best judged rate of one case a launch: in batches, so that two processes
// need not wake each other for each.
double OneCaseRate(const BenchResult& result, const std::string& kernel) {
  double best = 0;
  for (const BenchResult::Timing& timing : result.timings()) {
    if (absl::StartsWith(timing.name(), kernel + "/") &&
        absl::EndsWith(timing.name(), "/stage+kernel+judge")) {
      best = std::max(best, timing.per_second());
    }
  }
  return best;
}

constexpr double kGiga = 1e9;

void PrintFusedRow(const BenchResult::Fused& fused, const std::string& cases,
                   bool rates) {
  if (!fused.left_out().empty()) {
    std::printf("  %-8s %12s left out: %s\n", fused.kernel().c_str(),
                cases.c_str(), fused.left_out().c_str());
    return;
  }
  const double all = fused.batch() / fused.cases_per_second();
  const auto share = [all](double seconds) { return 100 * seconds / all; };
  std::printf(
      "  %-8s %12s %12.0f %9.2f %5.1f %5.1f %5.1f %6.1f %6.1f %6.1f %5.1f",
      fused.kernel().c_str(), cases.c_str(), fused.cases_per_second(),
      1e6 / fused.cases_per_second(), share(fused.lay()), share(fused.stage()),
      share(fused.copy()), share(fused.oracle()), share(fused.kernel_seconds()),
      share(fused.judge()), share(fused.wait()));
  if (rates && fused.copy() > 0 && fused.kernel_seconds() > 0) {
    std::printf(
        "  %.3f, %.3f",
        static_cast<double>(fused.copied_bytes()) / fused.copy() / kGiga,
        static_cast<double>(fused.kernel_bytes()) / fused.kernel_seconds() /
            kGiga);
  }
  // Of an fp64 rate of its own, so said apart.
  if (fused.passed_on_device() > 0) {
    std::printf("; oracle on the device %.3f ms, passed %u",
                1e3 * fused.oracle(), fused.passed_on_device());
  }
  std::printf("\n");
}

void PrintFused(const Targets& targets, const BenchResult& result) {
  if (result.fused().empty()) return;
  std::printf(
      "cases that share a call, judged on %d threads; of the time, percent\n"
      "  %-8s %12s %12s %9s %5s %5s %5s %6s %6s %6s %5s",
      result.fused(0).judging_threads(), "kernel", "cases", "cases/s",
      "us/case", "lay", "stage", "copy", "oracle", "kernel", "judge", "wait");
  const bool rates = result.device_rate() > 0;
  if (rates) std::printf("  %s", "GB/s: bus, kernel");
  std::printf("\n");
  if (!result.not_lent().empty()) {
    std::printf("  no memory is lent to the runner: %s\n",
                result.not_lent().c_str());
  }
  for (const BenchResult::Fused& fused : result.fused()) {
    PrintFusedRow(fused, absl::StrCat(fused.batch()), rates);
  }
  if (!result.fused_growth().empty()) {
    std::printf("of %u cases a call, by their size\n",
                result.fused_growth(0).batch());
  }
  for (const BenchResult::Fused& fused : result.fused_growth()) {
    PrintFusedRow(fused, fused.what(), rates);
  }
  if (rates) {
    std::printf(
        "the card copies %.0f GB/s within its memory (read and written), "
        "%.1f GB/s from the host's, %.1f GB/s to it\n",
        result.device_rate() / kGiga, result.in_rate() / kGiga,
        result.out_rate() / kGiga);
  }
  for (const BenchResult::Fused& fused : result.fused()) {
    if (fused.batch() != kFusedLine || !fused.left_out().empty()) continue;
    const double one = OneCaseRate(result, fused.kernel());
    if (one <= 0) continue;
    std::printf(
        "fused: batch=%u ratio=%.1f cases_per_s=%.0f device=%s kernel=%s\n",
        fused.batch(), fused.cases_per_second() / one, fused.cases_per_second(),
        TierText(targets).c_str(), fused.kernel().c_str());
  }
}

// Wrong kernels a second, beside cases a second.
void PrintKills(const BenchResult& result) {
  if (result.kills().empty()) return;
  std::printf(
      "wrong kernels: calls and ms up to the first failing verdict\n"
      "  %-40s %10s %10s %10s %10s\n",
      "", "one a call", "ms", "shared", "ms");
  BenchResult::Kill::Way alone, fused;
  int found_alone = 0, found_fused = 0;
  const auto add = [](const BenchResult::Kill::Way& way,
                      BenchResult::Kill::Way& all, int& found) {
    all.set_calls(all.calls() + way.calls());
    all.set_seconds(all.seconds() + way.seconds());
    if (way.found()) ++found;
  };
  const auto calls = [](const BenchResult::Kill::Way& way) {
    return absl::StrCat(way.found() ? "" : "none of ", way.calls());
  };
  for (const BenchResult::Kill& kill : result.kills()) {
    std::printf("  %-40s %10s %10.1f %10s %10.1f\n", kill.target().c_str(),
                calls(kill.alone()).c_str(), 1e3 * kill.alone().seconds(),
                calls(kill.fused()).c_str(), 1e3 * kill.fused().seconds());
    add(kill.alone(), alone, found_alone);
    add(kill.fused(), fused, found_fused);
  }
  const auto all = [](const char* how, const BenchResult::Kill::Way& way,
                      int found, int of) {
    std::printf("kills: %s %d of %d, %.1f a second, %llu calls\n", how, found,
                of, found / way.seconds(),
                static_cast<unsigned long long>(way.calls()));
  };
  all("one case a call", alone, found_alone, result.kills_size());
  all("shared calls", fused, found_fused, result.kills_size());
}

// Kernels that run in a process of their own, by the wall clock.
// `devices`: how several GPUs do, and nothing else.
absl::Status BenchApart(const Targets& targets, const std::string& flavour,
                        const std::vector<std::uint32_t>& devices,
                        double seconds) {
  const auto engine = FindEngine(flavour);
  if (!engine.ok()) return engine.status();
  std::printf("%s, tier %s\n", targets.all().c_str(),
              TierText(targets).c_str());
  if (!devices.empty()) {
    return PrintDevices(*engine, targets, devices, seconds);
  }
  WorkRequest request;
  *request.mutable_targets() = targets;
  request.set_seconds(seconds);
  const auto result = BenchInWorker(*engine, request);
  if (!result.ok()) return result.status();
  for (const BenchResult::Timing& timing : result->timings()) {
    std::printf("  %-34s %10.0f cases/s %10.2f us", timing.name().c_str(),
                timing.per_second(), timing.nanoseconds() / 1e3);
    if (timing.bridge() > 0) {
      std::printf(", of it %.0f%% for the bridge", 100 * timing.bridge());
    }
    std::printf("\n");
  }
  PrintFused(targets, *result);
  PrintKills(*result);
  if (!targets.device_name().empty() && !result->fused().empty() &&
      result->not_lent().empty()) {
    std::fflush(stdout);
    return PrintDevices(*engine, targets, TwoDevices(targets), seconds);
  }
  return absl::OkStatus();
}

absl::Status BenchFlavour(const std::string& flavour, double seconds) {
  const auto engine = FindEngine(flavour);
  if (!engine.ok()) return engine.status();
  const BuildInfo build = ReadBuildInfo(*engine);
  std::printf("flavour %s, %s\n  kernels: %s\n  %-30s %14s %13s %10s\n",
              flavour.c_str(), build.compiler.c_str(),
              build.kernel_flags.c_str(), "", "one core", "each", "of empty");
  const auto empty = EmptyTarget(flavour);
  if (!empty.ok()) return empty.status();
  Row("empty libFuzzer target", *empty, *empty);
  WorkRequest request;
  request.mutable_targets()->set_all("builtin");
  request.set_seconds(seconds);
  const auto result = BenchInWorker(*engine, request);
  if (!result.ok()) return result.status();
  for (const BenchResult::Timing& timing : result->timings()) {
    Row(timing.name(), timing.per_second(), *empty);
  }
  for (const BenchResult::Growth& growth : result->growths()) {
    PrintGrowth(growth);
  }
  for (const char* kernel : {"writer", "gather", "convert", "decode"}) {
    const auto rate = WholeCampaign(*engine, kernel, 5 * seconds);
    if (!rate.ok()) return rate.status();
    Row(absl::StrCat(kernel, "/campaign, generated cases"), *rate, *empty);
  }
  std::fflush(stdout);
  return absl::OkStatus();
}

int Run(const Arguments& arguments, const std::string&) {
  const auto fail = [](const absl::Status& s) {
    return UsageError(absl::StrCat("bench: ", s.message()));
  };
  CatchStopSignals();
  const auto seconds = arguments.Seconds("time", 1);
  if (!seconds.ok()) return fail(seconds.status());
  auto targets = ReadTargets(arguments);
  if (!targets.ok()) return fail(targets.status());
  const auto devices = ReadDevices(arguments, &*targets);
  if (!devices.ok()) return fail(devices.status());
  if (AnyForeign(*targets)) {
    // Not the flavour's kernels, and its sanitizers would slow the rest.
    const absl::Status s = BenchApart(
        *targets, arguments.Has("flavour") ? arguments.Get("flavour") : "plain",
        *devices, *seconds);
    return s.ok() ? kExitNothingFound : fail(s);
  }
  if (targets->all() != "builtin") {
    return fail(absl::InvalidArgumentError(
        "times builtin, attached targets and those on a GPU alone"));
  }
  std::vector<std::string> flavours = {"asan+ubsan", "plain", "race"};
  if (arguments.Has("flavour")) flavours = {arguments.Get("flavour")};
  for (const std::string& flavour : flavours) {
    if (absl::Status s = BenchFlavour(flavour, *seconds); !s.ok()) {
      return fail(s);
    }
  }
  return kExitNothingFound;
}

}  // namespace

Command BenchCommand() {
  return {"bench", "", "speed on one core or on a GPU, and where the time goes",
          WithTargetFlags(
              {{"time", "1s", "for each figure (default 1s)"},
               {"devices", "0,1",
                "how several GPUs of --backend=cuda do beside one, and nothing "
                "else"}}),
          Run};
}

}  // namespace mlafuzz
