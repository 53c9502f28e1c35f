#ifndef MLAFUZZ_PROPERTIES_RELATIONS_STEP_RELATION_H_
#define MLAFUZZ_PROPERTIES_RELATIONS_STEP_RELATION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "oracle/judge.h"
#include "properties/choices.h"

namespace mlafuzz {

// Runs that a relation made.
struct Reruns {
  std::vector<CaseImage> images;
  std::vector<Observation> observations;
  // Calls with other scalars than the case's, which images point to.
  std::deque<Step> calls;
};

// One step of a plain run, and what a relation needs to run it again another
// way. A relation sees every step alone, with the pool as it was observed
// before it, so that an earlier step's fault is not counted again.
struct StepContext {
  const TargetSet& targets;
  Executor& executor;
  const Contracts& contracts;
  const CaseImage& image;
  int index;
  const StepImage& step;
  const StepObservation& plain;
  const std::vector<std::uint8_t>& pool_before;
  Choices& choices;
  Reruns& reruns;  // Rerun() adds to them

  const Contract& contract() const {
    return *contracts[static_cast<std::size_t>(step.kernel)];
  }
  // The pool after the plain run of this step.
  const std::vector<std::uint8_t>& pool_after() const {
    return plain.pool.has_value() ? *plain.pool : pool_before;
  }
};

// What a relation found: empty `detail` and kPass if it holds.
struct Finding {
  Verdict verdict = Verdict::kPass;
  std::string detail;

  static Finding Fail(std::string detail) {
    return {Verdict::kFail, std::move(detail)};
  }
  bool ok() const { return verdict == Verdict::kPass; }
};

// The pool's bytes before step `index`, as observed.
std::vector<std::uint8_t> PoolBefore(const CaseImage& image,
                                     const Observation& observation, int index);

// The step alone on the pool that it found.
CaseImage OneStep(const StepContext& context);

// Runs `images`. Not kPass (with a detail that names what happened) unless
// every call ended well and left no stray bytes and no sanitizer report.
// kSkipped, and nothing runs, if one of them holds a call that the contract of
// its kernel does not demand (validity.h): what comes of it breaks no promise.
// `observations` is complete whenever the result is kPass.
absl::Status Rerun(const StepContext& context,
                   const std::vector<CaseImage>& images,
                   std::vector<Observation>* observations, Finding* finding);
// One image.
absl::Status Rerun(const StepContext& context, const CaseImage& image,
                   Observation* observation, Finding* finding);

// The pool after the last step of a rerun of `image`.
const std::vector<std::uint8_t>& FinalPool(const CaseImage& image,
                                           const Observation& observation);

// The bytes of output `id` that `observation` holds for `step`; nullptr if the
// step has no such output.
const std::vector<std::uint8_t>* OutputOf(const StepImage& step,
                                          const StepObservation& observation,
                                          TensorId id);

// "pool byte 12 (slot 0, byte 12 of its row): 0x00, plain run 0x7f", for the
// first difference; empty if there is none. Sizes must be equal.
std::string FirstPoolDifference(const PoolImage& pool,
                                const std::vector<std::uint8_t>& plain,
                                const std::vector<std::uint8_t>& other);
// The same for a tensor: "dst[3][512]: 0x3f80, plain run 0x0000". NaNs of bf16
// count as equal if `any_nan`.
std::string FirstTensorDifference(const Tensor& tensor,
                                  const std::vector<std::uint8_t>& plain,
                                  const std::vector<std::uint8_t>& other,
                                  bool any_nan);

// Compares all outputs and the pool of a step with the plain run's.
Finding SameAsPlain(const StepContext& context, const CaseImage& image,
                    const StepObservation& other);

// NaN payloads are free under this step's contract.
bool AnyNan(const StepContext& context);

// Elements of an integer tensor.
template <typename T>
T ElementAt(const Tensor& tensor, std::int64_t at);
void SetElement(Tensor& tensor, std::int64_t at, std::int32_t value);
// Bits of a 16-bit element [row, column].
std::uint16_t Bits16At(const Tensor& tensor, std::int64_t row,
                       std::int64_t column);
void SetBits16(Tensor& tensor, std::int64_t row, std::int64_t column,
               std::uint16_t bits);

// Rows that a valid write stores, in order: {token, slot}.
struct StoredRow {
  std::int64_t token;
  std::int64_t slot;
};
std::vector<StoredRow> StoredRows(const StepContext& context);
std::vector<StoredRow> StoredRows(const PoolImage& pool, const StepImage& step);

// No slot is stored twice.
bool SlotsDistinct(const PoolImage& pool, const StepImage& step);

// The rows of dst that a valid gather fills: request by request.
struct RequestRows {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_token;
};
std::vector<RequestRows> RequestsOf(const StepImage& step);

// A one-dimensional input tensor.
Tensor MakeList(TensorId id, const std::vector<std::int64_t>& values,
                DType dtype);
// Rows [first, first + count) of a tensor, as a tensor whose
// first row has the alignment that it has inside the whole.
Tensor RowsOf(const Tensor& tensor, std::int64_t first, std::int64_t count);

// Rows may lie in the source without sharing bytes.
bool RowsDisjoint(const Tensor& tensor);

// ---- Glue from a relation of one step to one of a case.

// Steps that relations look at: of this kernel, valid or at a documented edge
// under its contract.
bool IsJudgedStep(const Contracts& contracts, const CaseImage& image, int index,
                  Kernel kernel);

// What the oracle says of the first rerun that is wrong by itself, by a
// contract field if any is, and of whose call; null if all are right. `kernel`:
// the relation's own.
std::shared_ptr<const Diagnosis> WhyWrong(const Contracts& contracts,
                                          Kernel kernel, const Reruns& reruns);

// A class R with
//   static bool Applies(const Contract&, const CaseImage&, const StepImage&);
//   static absl::Status Run(StepContext&, Finding*);
// and, if it says nothing of kernels that run on the host,
//   static constexpr bool kOnDevices = true;
template <typename R, Kernel kernel>
bool AppliesToCase(const TargetSet& targets, const Contracts& contracts,
                   const CaseImage& image) {
  if constexpr (requires { R::kOnDevices; }) {
    const Target* const target = targets.For(kernel);
    if (target == nullptr || !IsOnDevice(target->name())) return false;
  }
  for (int i = 0; i < static_cast<int>(image.steps.size()); ++i) {
    if (IsJudgedStep(contracts, image, i, kernel) &&
        R::Applies(*contracts[static_cast<std::size_t>(kernel)], image,
                   image.steps[i])) {
      return true;
    }
  }
  return false;
}

template <typename R, Kernel kernel>
absl::Status RunOnCase(const char* name, const TargetSet& targets,
                       Executor& executor, const Contracts& contracts,
                       const CaseImage& image, const Observation& plain,
                       std::uint64_t seed, std::vector<Check>* checks) {
  Choices choices(seed);
  for (int i = 0; i < static_cast<int>(plain.steps.size()); ++i) {
    if (!IsJudgedStep(contracts, image, i, kernel) ||
        plain.steps[i].status != CallStatus::kOk ||
        !R::Applies(*contracts[static_cast<std::size_t>(kernel)], image,
                    image.steps[i])) {
      continue;
    }
    const std::vector<std::uint8_t> before = PoolBefore(image, plain, i);
    Reruns reruns;
    StepContext context = {targets, executor,       contracts,      image,
                           i,       image.steps[i], plain.steps[i], before,
                           choices, reruns};
    Finding finding;
    if (absl::Status s = R::Run(context, &finding); !s.ok()) return s;
    checks->push_back({i, kernel, name, finding.verdict, finding.detail,
                       IsFailure(finding.verdict)
                           ? WhyWrong(contracts, kernel, reruns)
                           : nullptr});
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_RELATIONS_STEP_RELATION_H_
