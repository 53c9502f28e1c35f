#include "fuzz/worker/reach_mode.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/case_log.h"
#include "fuzz/worker/session.h"
#include "kernels/executor.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

bool SameStray(const Stray& a, const Stray& b) {
  return a.tensor == b.tensor && a.first == b.first && a.last == b.last &&
         a.count == b.count;
}

enum class Calls {
  kNone,    // of a wrong kernel that may be made
  kWrong,   // at least one
  kUnsent,  // some step is unspecified: campaigns do not send such a case
};

Calls CallsOf(const Contracts& contracts, const std::vector<Kernel>& wrong,
              const CaseImage& image) {
  Calls calls = Calls::kNone;
  for (int i = 0; i < static_cast<int>(image.steps.size()); ++i) {
    const StepImage& step = image.steps[static_cast<std::size_t>(i)];
    if (step.is_patch) continue;
    const Validity validity =
        Classify(*contracts[static_cast<std::size_t>(step.kernel)], image, i)
            .validity;
    if (validity == Validity::kUnspecified) return Calls::kUnsent;
    const bool valid =
        validity == Validity::kValid || validity == Validity::kBoundary;
    if (valid &&
        std::find(wrong.begin(), wrong.end(), step.kernel) != wrong.end()) {
      calls = Calls::kWrong;
    }
  }
  return calls;
}

}  // namespace

absl::StatusOr<TargetSet> RightTwin(const TargetSet& wrong,
                                    const std::vector<Kernel>& kernels) {
  absl::StatusOr<TargetSet> right = MakeTargetSet("builtin");
  if (!right.ok()) return right;
  for (const Kernel kernel : kAllKernels) {
    // What stands in for a kernel that it lacks is right.
    const Target* rest = wrong.For(kernel);
    if (rest != nullptr && absl::StartsWith(rest->name(), "builtin")) {
      const std::size_t k = static_cast<std::size_t>(kernel);
      right->targets[k] = wrong.targets[k];
    }
  }
  for (const Kernel kernel : kernels) {
    const std::string promised =
        wrong.For(kernel)->contract().SerializeAsString();
    if (right->For(kernel)->contract().SerializeAsString() == promised) {
      continue;
    }
    for (const TargetInfo& info : AllTargets()) {
      if (!absl::StartsWith(info.name, "builtin:") ||
          std::find(info.replaces.begin(), info.replaces.end(), kernel) ==
              info.replaces.end()) {
        continue;
      }
      const absl::StatusOr<TargetSet> other = MakeTargetSet(info.name);
      if (!other.ok()) return other;
      if (other->For(kernel)->contract().SerializeAsString() != promised) {
        continue;
      }
      const std::size_t k = static_cast<std::size_t>(kernel);
      right->targets[k] = other->targets[k];
      break;
    }
  }
  return right;
}

bool LeftTheSame(const Observation& a, const Observation& b) {
  if (a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const StepObservation& x = a.steps[i];
    const StepObservation& y = b.steps[i];
    if (x.status != y.status || x.pool != y.pool || x.outputs != y.outputs ||
        !std::equal(x.strays.begin(), x.strays.end(), y.strays.begin(),
                    y.strays.end(), SameStray)) {
      return false;
    }
  }
  return true;
}

absl::Status MeasureReach(const WorkRequest& request, WorkerStatus& status) {
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  std::vector<Kernel> wrong;
  for (const Kernel kernel : kAllKernels) {
    if (std::find(request.kernels().begin(), request.kernels().end(),
                  KernelName(kernel)) != request.kernels().end()) {
      wrong.push_back(kernel);
    }
  }
  const absl::StatusOr<TargetSet> right =
      RightTwin((*session)->targets(), wrong);
  if (!right.ok()) return right.status();
  const Contracts contracts = (*session)->checker().contracts();
  const auto log = ReadCaseLog(request.case_log());
  if (!log.ok()) return log.status();
  const std::unique_ptr<Executor> executor = MakeHostExecutor();
  ReachResult result;
  const auto write = [&] {
    return WriteFileAtomically(absl::StrCat(request.out(), "/reach.result"),
                               result.SerializeAsString());
  };
  if (absl::Status s = write(); !s.ok()) return s;
  for (const std::string& binary : *log) {
    if (status.stop != 0 || result.triggered()) break;
    const absl::StatusOr<Case> c = ParseCaseBinary(binary);
    if (!c.ok()) return c.status();
    std::vector<CaseImage> images;
    {
      absl::StatusOr<CaseImage> image = BuildImage(*c);
      if (!image.ok()) continue;
      images.push_back(*std::move(image));
    }
    result.set_cases(result.cases() + 1);
    const Calls calls = CallsOf(contracts, wrong, images[0]);
    if (calls == Calls::kUnsent) continue;
    if (calls == Calls::kWrong && !result.reached()) {
      result.set_reached(true);
      if (absl::Status s = write(); !s.ok()) return s;
    }
    std::vector<Observation> by_wrong, by_right;
    status.Begin(binary);
    absl::Status s =
        (*session)->executor().Run((*session)->targets(), images, &by_wrong);
    if (s.ok()) s = executor->Run(*right, images, &by_right);
    if (!s.ok()) return s;
    status.End();
    status.Add(status.cases);
    if (!LeftTheSame(by_wrong[0], by_right[0])) {
      result.set_reached(true);
      result.set_triggered(true);
    }
  }
  return write();
}

}  // namespace mlafuzz
