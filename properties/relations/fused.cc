#include "properties/relations/fused.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "properties/fused/fused_case.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kManyRows = 100;
constexpr std::int64_t kManyRowsOnDevices = 4096;
// Of one call. Above it two copies are all.
constexpr std::int64_t kMostBytes = std::int64_t{2} << 20;
constexpr std::int64_t kMostBytesOnDevices = std::int64_t{16} << 20;
// Keys times heads of one decode: the host takes milliseconds for so many.
constexpr std::int64_t kMostKeys = std::int64_t{1} << 12;

std::int64_t KeysOf(const StepImage& step) {
  if (step.kernel != Kernel::kDecode) return 1;
  const Tensor& q = *step.Find(TensorId::kQ);
  const Tensor& indices = *step.Find(TensorId::kIndices);
  return std::max<std::int64_t>(q.shape[0] * q.shape[1] * indices.shape[1], 1);
}

// Numbers of copies.
std::set<std::int64_t> Copies(const StepContext& context,
                              const CaseImage& image) {
  const std::int64_t rows = std::max<std::int64_t>(FusedRows(image), 1);
  const Target* const target = context.targets.For(context.step.kernel);
  const bool on_device = target != nullptr && IsOnDevice(target->name());
  std::set<std::int64_t> copies = {2};
  for (const std::int64_t wanted :
       {kManyRows, on_device ? kManyRowsOnDevices : kManyRows}) {
    std::int64_t n = (wanted + rows - 1) / rows;
    n = std::min(
        n, (on_device ? kMostBytesOnDevices : kMostBytes) / FusedBytes(image));
    if (!on_device) n = std::min(n, kMostKeys / KeysOf(context.step));
    if (n > 2) copies.insert(n);
  }
  return copies;
}

}  // namespace

bool Fused::Applies(const Contract& contract, const CaseImage& image,
                    const StepImage& step) {
  Contracts contracts;
  contracts.fill(&contract);
  CaseImage one;
  one.source = image.source;
  one.pool = image.pool;
  one.steps = {step};
  return FuseKey(contracts, one).ok();
}

absl::Status Fused::Run(StepContext& context, Finding* finding) {
  const CaseImage one = OneStep(context);
  for (const std::int64_t copies : Copies(context, one)) {
    const FusedCase fused(
        std::vector<const CaseImage*>(static_cast<std::size_t>(copies), &one));
    const CaseImage image = fused.Lay();
    const std::string where = absl::StrCat(copies, " copies in one call: ");
    // Not by Rerun(): what explains a call of many rows is no cause of its own.
    std::vector<Observation> observations;
    if (absl::Status s =
            context.executor.Run(context.targets, {&image, 1}, &observations);
        !s.ok()) {
      return s;
    }
    const std::vector<StepObservation>& steps = observations.at(0).steps;
    if (std::any_of(steps.begin(), steps.end(), [](const StepObservation& s) {
          return s.status == CallStatus::kRefused ||
                 s.status == CallStatus::kNotImplemented;
        })) {
      // So many rows are not taken, or find no memory.
      *finding = {Verdict::kSkipped, steps.back().message};
    }
    if (finding->ok()) {
      const auto split = fused.Split(observations[0]);
      if (!split.ok()) {
        *finding = Finding::Fail(std::string(split.status().message()));
      }
      for (std::size_t m = 0; finding->ok() && m < split->size(); ++m) {
        *finding = SameAsPlain(context, one, (*split)[m].steps[0]);
        if (!finding->ok()) {
          finding->detail =
              absl::StrCat("number ", m + 1, ": ", finding->detail);
        }
      }
    }
    if (!finding->ok()) {
      finding->detail = where + finding->detail;
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
