#include "fuzz/worker/run_mode.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/diff.h"
#include "fuzz/worker/failures.h"
#include "fuzz/worker/known_causes.h"
#include "fuzz/worker/lockstep.h"
#include "fuzz/worker/session.h"

namespace mlafuzz {
namespace {

std::string RunPath(const WorkRequest& request, int number) {
  return absl::StrCat(request.out(), "/", number, ".run");
}

void AddLines(const CaseResult& result, CaseRun& run) {
  for (const Check& check : result.checks) {
    CaseRun::Line& line = *run.add_lines();
    line.set_kernel(KernelName(check.kernel));
    line.set_property(check.property);
    line.set_verdict(VerdictName(check.verdict));
    line.set_detail(check.detail);
    line.set_step(check.step);
  }
}

std::set<std::string> Keys(const std::vector<Failure>& failures) {
  std::set<std::string> keys;
  for (const Failure& failure : failures) {
    for (std::string& key : KeysOf(failure)) keys.insert(std::move(key));
  }
  return keys;
}

// Every decode that both sides took.
absl::Status AddStages(DiffPair& pair, const DiffResult& result, CaseRun& run) {
  const auto& a = result.a.observation.steps;
  const auto& b = result.b.observation.steps;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const StepImage& step = result.a.image.steps[i];
    if (step.is_patch || step.kernel != Kernel::kDecode ||
        a[i].status != CallStatus::kOk || b[i].status != CallStatus::kOk) {
      continue;
    }
    const auto stages = Lockstep(pair.a(), pair.b(), result.a.image,
                                 result.a.observation, static_cast<int>(i));
    if (!stages.ok()) return stages.status();
    run.add_stages(absl::StrCat("step ", i, ": ", *stages));
  }
  return absl::OkStatus();
}

// Runs `one` for each case from first_case on, between Begin and End.
template <typename One>
absl::Status ForEachCase(const WorkRequest& request, WorkerStatus& status,
                         One one) {
  for (int i = static_cast<int>(request.first_case());
       i < request.cases_size() && status.stop == 0; ++i) {
    CaseRun run;
    const absl::StatusOr<Case> c = ParseCaseBinary(request.cases(i));
    status.position.store(static_cast<std::uint64_t>(i));
    if (c.ok()) {
      status.Begin(request.cases(i));
      const absl::Status s = one(*c, run);
      if (!s.ok()) run.set_error(std::string(s.message()));
      status.End();
    } else {
      run.set_error(std::string(c.status().message()));
    }
    status.Add(status.cases);
    if (absl::Status s =
            WriteFileAtomically(RunPath(request, i), run.SerializeAsString());
        !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCases(const WorkRequest& request, WorkerStatus& status) {
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  CaseChecker& checker = (*session)->checker();
  const auto one = [&](const Case& c, CaseRun& run) {
    std::set<std::string> first;
    for (std::uint32_t i = 0; i < std::max(1u, request.repeat()); ++i) {
      CaseResult result;
      CheckOptions options = Session::ReplayOptions(c);
      // Under a tool every run starts a process: the plain one tells all.
      options.all_relations =
          !request.alone() && request.targets().sanitizer().empty();
      const absl::Status s = checker.CheckCase(c, options, &result);
      if (!s.ok()) return s;
      const auto failures =
          DescribeFailures(checker, result, request.explain());
      const std::set<std::string> keys = Keys(failures);
      run.set_runs(run.runs() + 1);
      if (!keys.empty()) run.set_failed_runs(run.failed_runs() + 1);
      if (i == 0) {
        AddLines(result, run);
        for (const Failure& f : failures) *run.add_failures() = f;
        first = keys;
      } else if (run.failures_size() == 0) {
        for (const Failure& f : failures) *run.add_failures() = f;
      }
      // Of a wanted cause: did it come back? Else: did all?
      const bool same = request.cause().empty()
                            ? keys == first
                            : keys.count(request.cause()) != 0;
      if (same) run.set_same_failures(run.same_failures() + 1);
      status.Add(status.heartbeat);
    }
    return absl::OkStatus();
  };
  return ForEachCase(request, status, one);
}

absl::Status DiffCases(const WorkRequest& request, WorkerStatus& status) {
  auto pair =
      DiffPair::Create(request.targets(), request.other(),
                       {request.kernels().begin(), request.kernels().end()});
  if (!pair.ok()) return pair.status();
  return ForEachCase(
      request, status, [&](const Case& c, CaseRun& run) -> absl::Status {
        auto result =
            (*pair)->Compare(c, {.with_oracle = !request.no_oracle(),
                                 .within_bounds = request.within_bounds()});
        if (!result.ok()) return result.status();
        AddLines(result->a, run);
        run.set_runs(1);
        run.set_compared(static_cast<std::uint32_t>(result->compared));
        for (const std::string& why : result->not_compared) {
          run.add_not_compared(why);
        }
        if (!result->failure.key().empty()) {
          *run.add_failures() = result->failure;
          run.set_failed_runs(1);
          run.set_difference(result->failure.detail());
        }
        return request.lockstep() ? AddStages(**pair, *result, run)
                                  : absl::OkStatus();
      });
}

}  // namespace mlafuzz
