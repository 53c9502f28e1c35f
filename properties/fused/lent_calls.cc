#include "properties/fused/lent_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/foreign/foreign_target.h"
#include "oracle/expect.h"
#include "properties/fused/lent_run.h"

namespace mlafuzz {

absl::StatusOr<std::unique_ptr<LentCalls>> LentCalls::Create(
    const TargetSet& targets, ForeignExecutor& executor, std::uint64_t bytes) {
  int device = -1;
  for (const std::shared_ptr<Target>& target : targets.targets) {
    if (target == nullptr) continue;
    const int its = target->foreign() == nullptr
                        ? -1
                        : target->foreign()->program().lent_to;
    if (its < 0 || (device >= 0 && its != device)) {
      return absl::FailedPreconditionError(
          absl::StrCat(target->name(), " takes no memory of that GPU"));
    }
    device = its;
  }
  if (device < 0) return absl::FailedPreconditionError("no kernel on a GPU");
  auto memory = LentMemory::Create(device, bytes);
  if (!memory.ok()) return memory.status();
  executor.Lend(**memory, device);
  return std::make_unique<LentCalls>(targets, executor, *std::move(memory));
}

void FillLeftOut(const Contracts& contracts, const CaseImage& image,
                 Observation* observation) {
  const std::vector<std::uint8_t>* before = &image.pool.bytes;
  observation->steps.resize(image.steps.size());
  for (std::size_t step = 0; step < observation->steps.size(); ++step) {
    const Kernel kernel = image.steps[step].kernel;
    if (kernel == Kernel::kDecode) continue;
    Expectation expected = Expect(*contracts[static_cast<std::size_t>(kernel)],
                                  image, static_cast<int>(step), *before);
    StepObservation& own = observation->steps[step];
    own.outputs = std::move(expected.outputs);
    if (expected.pool.empty() || expected.pool == *before) continue;
    own.pool = std::move(expected.pool);
    before = &*own.pool;
  }
}

std::string LentCalls::WhyNot(const FusedCase& fused) const {
  if (!lost_.empty()) return lost_;
  return fused.shape().launch == Launch::kDirect
             ? ""
             : "it is launched in another way";
}

std::unique_ptr<LentRun> LentCalls::Open(const FusedCase& fused,
                                         const Contracts& contracts,
                                         int threads, std::uint64_t from) {
  return std::make_unique<LentRun>(
      LentRun::Owner{.targets = targets_,
                     .executor = executor_,
                     .memory = *memory_,
                     .times = times_,
                     .copied_bytes = copied_bytes_,
                     .decodes_passed = decodes_passed_,
                     .ahead = ahead_,
                     .keep_all = keep_all_,
                     .fill_from = fill_from_,
                     .lost = lost_},
      fused, contracts, threads, from);
}

absl::StatusOr<LentCalls::Result> LentCalls::Run(const FusedCase& fused,
                                                 const Contracts& contracts,
                                                 int threads,
                                                 const FusedCase* next) {
  Result result;
  result.why_not = WhyNot(fused);
  if (!result.why_not.empty()) return result;
  return Open(fused, contracts, threads, 0)->Run(next);
}

}  // namespace mlafuzz
