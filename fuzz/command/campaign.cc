// mlafuzz campaign

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/campaign_flags.h"
#include "fuzz/command/changed_since.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/device_flags.h"
#include "fuzz/command/infer_text.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/foreign.h"
#include "fuzz/worker/session.h"
#include "kernels/target_set.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

bool HasLibrary(const Targets& targets) {
  return IsForeign(targets.all()) || IsForeign(targets.writer()) ||
         IsForeign(targets.gather()) || IsForeign(targets.convert()) ||
         IsForeign(targets.decode());
}

using Clock = std::chrono::steady_clock;

// What the look takes at most, of a campaign's time and in seconds: it is a few
// for a kernel that works, and the campaign finds out about the others.
constexpr double kLookShare = 0.25;
constexpr double kLongestLook = 30;
constexpr std::uint64_t kMostThreads = 1024;

// A look at what libraries declare: a wrong declaration is found as a fault of
// the kernel, time and again.
void NoteContradictions(CampaignOptions* options) {
  const double seconds =
      options->seconds > 0
          ? std::min(kLookShare * options->seconds, kLongestLook)
          : kLongestLook;
  WorkRequest request;
  *request.mutable_targets() = options->targets;
  request.mutable_kernels()->Assign(options->kernels.begin(),
                                    options->kernels.end());
  request.set_seed(options->seed);
  request.set_brief(true);
  const Clock::time_point start = Clock::now();
  const auto result =
      InferInWorker(options->engine, std::move(request),
                    start + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(seconds)));
  options->seconds_spent +=
      std::chrono::duration<double>(Clock::now() - start).count();
  if (absl::IsCancelled(result.status()) && StopSignals() == 0) {
    options->notes.push_back(absl::StrFormat(
        "what the library declares was not compared with what it does: no end "
        "after %.1f s; `mlafuzz infer` takes its time",
        options->seconds_spent));
  }
  // Whatever it is, the campaign meets it too, and reports it.
  if (!result.ok()) return;
  for (const std::string& sentence : Contradictions(*result)) {
    options->notes.push_back(
        absl::StrCat(sentence, ": fix its description, or these are findings"));
  }
}

// One corpus, one report; what follows up findings uses the first.
absl::Status ChooseDevices(const Arguments& arguments,
                           CampaignOptions* options) {
  auto devices = ReadDevices(arguments, &options->targets);
  if (!devices.ok()) return devices.status();
  options->devices = *std::move(devices);
  if (options->devices.empty()) return absl::OkStatus();
  const auto count = static_cast<int>(options->devices.size());
  if (!arguments.Has("jobs")) options->jobs = count;
  if (options->jobs < count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--jobs=", options->jobs, " leaves some of ", count,
                     " devices idle; a job uses one"));
  }
  return absl::OkStatus();
}

// A kernel whose contract lets no case share a call has them all run alone,
// and its user is told so.
absl::Status NoteWhatSharesNothing(CampaignOptions* options) {
  const auto targets = MakeTargets(options->targets);
  if (!targets.ok()) return targets.status();
  for (const std::string& name : options->kernels) {
    for (const Kernel kernel : kAllKernels) {
      const Target* target = targets->For(kernel);
      if (KernelName(kernel) != name || target == nullptr) continue;
      const char* why = WhyNoneShares(target->contract(), kernel);
      if (why == nullptr) continue;
      options->notes.push_back(absl::StrCat(
          "--fuse: no case that calls the ", name, " of ", target->name(),
          " shares a call, each runs alone: ", why));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFuse(const Arguments& arguments, CampaignOptions* options) {
  options->judge_twice = arguments.Has("judge-twice");
  if (options->judge_twice && options->targets.device_name().empty()) {
    return absl::InvalidArgumentError(
        "--judge-twice is of what a GPU judges; add --backend=cuda");
  }
  if (!arguments.Has("fuse")) {
    if (!options->judge_twice) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--judge-twice is of cases that share calls; add --fuse=N");
  }
  const auto fuse = arguments.Number("fuse", 0);
  if (!fuse.ok()) return fuse.status();
  if (*fuse < 2 || *fuse > kMostFused) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fuse needs 2 to ", kMostFused, " cases, got ", *fuse,
                     "; leave it out for one case a call"));
  }
  if (!options->targets.sanitizer().empty()) {
    return absl::InvalidArgumentError(
        "--fuse and --sanitizer: a tool's reports are of one case; leave one "
        "of them out");
  }
  options->fuse = static_cast<std::uint32_t>(*fuse);
  return NoteWhatSharesNothing(options);
}

// What four turns of cases may take beside what any job does (measured: about
// 1 GiB).
constexpr std::uint64_t kBytesOfTurns = std::uint64_t{4} << 30;

// Of a campaign whose cases share calls: a job on a GPU waits for what makes
// cases and judges them, so it takes its part of the processors; on the host
// kernels need them themselves.
absl::Status ReadThreads(const Arguments& arguments, CampaignOptions* options) {
  if (options->fuse > 1) options->limits.resident_bytes += kBytesOfTurns;
  if (!arguments.Has("threads")) {
    if (options->fuse > 1 && !options->targets.device_name().empty()) {
      options->threads = std::max(
          1u, std::thread::hardware_concurrency() /
                  static_cast<std::uint32_t>(std::max(options->jobs, 1)));
    }
    return absl::OkStatus();
  }
  const auto threads = arguments.Number("threads", 1);
  if (!threads.ok()) return threads.status();
  if (*threads < 1 || *threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads needs 1 to ", kMostThreads,
                     " threads a job, got ", *threads));
  }
  if (options->fuse < 2) {
    return absl::InvalidArgumentError(
        "--threads is for cases that share calls: add --fuse=N, or ask for "
        "more --jobs");
  }
  // What an input reaches in kernels of this process would be another's.
  if (*threads > 1 && !AnyForeign(options->targets)) {
    return absl::InvalidArgumentError(
        "--threads is for kernels in processes of their own "
        "(--backend=cuda, lib:PATH.so or python:MODULE); ask for more --jobs");
  }
  options->threads = static_cast<std::uint32_t>(*threads);
  return absl::OkStatus();
}

int RunWith(const Arguments& arguments, CampaignOptions options,
            const std::function<absl::Status(CampaignResult*)>& mark) {
  // What it asks is of fp8_ds_mla alone.
  if (!arguments.Has("no-infer") && HasLibrary(options.targets) &&
      options.layout == FP8_DS_MLA) {
    NoteContradictions(&options);
  }
  return CampaignToExitCode(options, mark);
}

int Run(const Arguments& arguments, const std::string& typed) {
  const auto error = [](const absl::Status& s) {
    return UsageError(absl::StrCat("campaign: ", s.message()));
  };
  CampaignOptions options;
  options.command = typed;
  const auto targets = ReadTargets(arguments);
  if (!targets.ok()) return error(targets.status());
  options.targets = *targets;
  auto kernels = ReadKernels(arguments, *targets);
  if (!kernels.ok()) return error(kernels.status());
  options.kernels = *std::move(kernels);
  if (absl::Status s = ReadCampaignFlags(arguments, &options); !s.ok()) {
    return error(s);
  }
  if (absl::Status s = ChooseDevices(arguments, &options); !s.ok()) {
    return error(s);
  }
  if (absl::Status s = ReadFuse(arguments, &options); !s.ok()) return error(s);
  if (absl::Status s = ReadThreads(arguments, &options); !s.ok()) {
    return error(s);
  }
  // From here on there is something to report.
  CatchStopSignals();
  if (!arguments.Has("changed-since")) {
    for (const Flag& flag : ChangedSinceFlags()) {
      if (!arguments.Has(flag.name)) continue;
      return error(absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, " needs --changed-since=REV")));
    }
    return RunWith(arguments, options, nullptr);
  }
  const Clock::time_point start = Clock::now();
  const auto change = ChangedSince::Prepare(arguments, &options);
  if (!change.ok()) return error(change.status());
  for (const std::string& line : change->lines()) {
    std::printf("%s\n", line.c_str());
  }
  std::fflush(stdout);
  if (change->nothing_to_do()) return kExitNothingFound;
  options.seconds_spent +=
      std::chrono::duration<double>(Clock::now() - start).count();
  options.notes.push_back(change->summary());
  return RunWith(arguments, options, [&](CampaignResult* result) {
    return change->Mark(options, result);
  });
}

}  // namespace

Command CampaignCommand() {
  std::vector<Flag> flags = CampaignFlags();
  flags.push_back({"no-infer", nullptr,
                   "do not compare what an attached target declares first"});
  flags.push_back(
      {"devices", "0,1", "GPUs of --backend=cuda that jobs take in turn"});
  flags.push_back({"fuse", "N",
                   "N cases at a time, in one call where they may share it "
                   "(docs/fused.md)"});
  flags.push_back({"judge-twice", nullptr,
                   "with --fuse on a GPU: what the device passes is judged by "
                   "the host as well"});
  flags.push_back({"threads", "N",
                   "with --fuse, of each job: make cases, judge and count "
                   "(default 1; on GPUs all processors, divided by jobs)"});
  for (const Flag& flag : ChangedSinceFlags()) flags.push_back(flag);
  return {"campaign", "", "fuzz kernels; report what is found",
          WithTargetFlags(flags), Run};
}

}  // namespace mlafuzz
