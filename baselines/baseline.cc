#include "baselines/baseline.h"

#include <algorithm>
#include <ctime>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mlafuzz::baselines {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// builtin is answerable for all of its kernels.
std::vector<Kernel> ReplacedBy(absl::string_view target) {
  for (const TargetInfo& info : AllTargets()) {
    if (info.name == target && !info.replaces.empty()) return info.replaces;
  }
  return {kAllKernels.begin(), kAllKernels.end()};
}

}  // namespace

SuiteRun::SuiteRun(TargetSet targets, std::vector<Kernel> replaced,
                   std::uint64_t seed)
    : generator_(seed),
      calls_(std::move(targets), seed),
      replaced_(std::move(replaced)) {}

bool SuiteRun::Replaces(Kernel kernel) const {
  return std::find(replaced_.begin(), replaced_.end(), kernel) !=
         replaced_.end();
}

Random SuiteRun::StartCase(std::string label) {
  label_ = std::move(label);
  ++cases_;
  return Random(generator_.Stream(static_cast<std::uint64_t>(cases_)));
}

bool SuiteRun::Holds(const std::string& why) {
  if (why.empty()) return true;
  failed_ = true;
  why_ = absl::StrCat("case ", cases_, " (", label_, "): ", why);
  return false;
}

const std::vector<Baseline>& Baselines() {
  static const auto* const kBaselines = new std::vector<Baseline>{
      VllmWriter(),     VllmGather(),       VllmBackend(), FlashInferSm120(),
      FlashMlaDecode(), KernelBenchStyle(), Cosine()};
  return *kBaselines;
}

absl::StatusOr<const Baseline*> FindBaseline(absl::string_view id) {
  for (const Baseline& baseline : Baselines()) {
    if (baseline.id == id) return &baseline;
  }
  return absl::NotFoundError(absl::StrCat(
      "no baseline is named \"", id, "\"; there are: all, ",
      absl::StrJoin(Baselines(), ", ", [](std::string* out, const auto& b) {
        absl::StrAppend(out, b.id);
      })));
}

absl::StatusOr<Result> RunBaseline(const Baseline& baseline,
                                   absl::string_view target,
                                   std::uint64_t seed) {
  if (RunsApart(target)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "baselines run on the host, on targets that are compiled in, not on \"",
        target, "\"; give a name that `mlafuzz targets` lists"));
  }
  absl::StatusOr<TargetSet> targets = MakeTargetSet(target);
  if (!targets.ok()) return targets.status();
  SuiteRun run(*std::move(targets), ReplacedBy(target), seed);
  Result result;
  // The published tests kept are those of 656-byte rows; a kernel of another
  // layout would be red whatever it does.
  result.applicable = std::any_of(
      baseline.kernels.begin(), baseline.kernels.end(), [&](Kernel kernel) {
        if (!run.Replaces(kernel)) return false;
        const Layout layout = run.contract(kernel).layout();
        return layout == FP8_DS_MLA || layout == LAYOUT_UNSPECIFIED;
      });
  if (!result.applicable) return result;
  const double begin = CpuSeconds();
  baseline.run(run);
  result.cpu_seconds = CpuSeconds() - begin;
  result.flagged = run.failed();
  result.why = run.why();
  result.cases = run.cases();
  return result;
}

}  // namespace mlafuzz::baselines
