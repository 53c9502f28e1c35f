#include "fuzz/worker/infer_mode.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "fuzz/worker/session.h"
#include "properties/infer/infer.h"

namespace mlafuzz {
namespace {

std::vector<Kernel> KernelsOf(const WorkRequest& request,
                              const TargetSet& targets) {
  std::vector<Kernel> kernels;
  for (const Kernel kernel : kAllKernels) {
    if (std::find(request.kernels().begin(), request.kernels().end(),
                  KernelName(kernel)) == request.kernels().end()) {
      continue;
    }
    if (request.brief() && targets.For(kernel)->foreign() == nullptr) continue;
    kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace

absl::Status RunInfer(const WorkRequest& request, WorkerStatus& status) {
  auto session = Session::Create(request.targets());
  if (!session.ok()) return session.status();
  const TargetSet& targets = (*session)->targets();
  InferOptions options = request.brief() ? BriefInference() : InferOptions();
  options.seed = request.seed();
  options.progress = [&status] { status.Add(status.heartbeat); };
  const auto result = Infer(targets, KernelsOf(request, targets),
                            (*session)->executor(), options);
  if (!result.ok()) return result.status();
  return WriteFileAtomically(absl::StrCat(request.out(), "/infer.result"),
                             result->SerializeAsString());
}

}  // namespace mlafuzz
