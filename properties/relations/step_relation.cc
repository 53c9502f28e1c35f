#include "properties/relations/step_relation.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "oracle/two_rules.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

Verdict VerdictOf(CallStatus status) {
  switch (status) {
    case CallStatus::kOk:
      return Verdict::kPass;
    case CallStatus::kNotImplemented:
      return Verdict::kSkipped;
    case CallStatus::kCrash:
      return Verdict::kCrash;
    case CallStatus::kHang:
      return Verdict::kHang;
    case CallStatus::kOutOfMemory:
      return Verdict::kOutOfMemory;
    case CallStatus::kProtocol:
      return Verdict::kProtocol;
    default:
      return Verdict::kFail;
  }
}

bool IsNan16(const std::uint8_t* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, 2);
  return (bits & 0x7fff) > 0x7f80;
}

// Why a call of `image` may be refused, or do anything, by the contract of the
// kernel that it goes to; empty if all must be made and be right.
std::string WhyNotDemanded(const Contracts& contracts, const CaseImage& image) {
  for (int i = 0; i < static_cast<int>(image.steps.size()); ++i) {
    const StepImage& step = image.steps[static_cast<std::size_t>(i)];
    if (step.is_patch) continue;
    const Contract* contract = contracts[static_cast<std::size_t>(step.kernel)];
    if (contract == nullptr) {
      return absl::StrCat("no ", KernelName(step.kernel));
    }
    const StepValidity v = Classify(*contract, image, i);
    if (v.validity == Validity::kValid || v.validity == Validity::kBoundary) {
      continue;
    }
    return absl::StrCat("to the ", KernelName(step.kernel),
                        "'s contract the rerun is ", ValidityName(v.validity),
                        " (", v.rule, "): ", v.reason);
  }
  return "";
}

}  // namespace

std::vector<std::uint8_t> PoolBefore(const CaseImage& image,
                                     const Observation& observation,
                                     int index) {
  // From the last step that changed it; patches are the harness's own.
  PoolImage pool = image.pool;
  for (int i = 0; i < index; ++i) {
    if (i < static_cast<int>(observation.steps.size()) &&
        observation.steps[i].pool.has_value()) {
      pool.bytes = *observation.steps[i].pool;
    } else if (image.steps[i].is_patch) {
      ApplyPatch(image.steps[i].step->patch(), pool);
    }
  }
  return std::move(pool.bytes);
}

CaseImage OneStep(const StepContext& context) {
  CaseImage one;
  one.source = context.image.source;
  one.pool.layout = context.image.pool.layout;
  one.pool.pages = context.image.pool.pages;
  one.pool.page_size = context.image.pool.page_size;
  one.pool.page_stride = context.image.pool.page_stride;
  one.pool.row_stride = context.image.pool.row_stride;
  one.pool.row_bytes = context.image.pool.row_bytes;
  one.pool.row_part = context.image.pool.row_part;
  one.pool.offset = context.image.pool.offset;
  one.pool.bytes = context.pool_before;
  one.steps.push_back(context.step);
  return one;
}

absl::Status Rerun(const StepContext& context,
                   const std::vector<CaseImage>& images,
                   std::vector<Observation>* observations, Finding* finding) {
  for (const CaseImage& image : images) {
    std::string why = WhyNotDemanded(context.contracts, image);
    if (why.empty()) continue;
    *finding = {Verdict::kSkipped, std::move(why)};
    return absl::OkStatus();
  }
  if (absl::Status s =
          context.executor.Run(context.targets, images, observations);
      !s.ok()) {
    return s;
  }
  Reruns& kept = context.reruns;
  for (const CaseImage& image : images) {
    kept.images.push_back(image);
    // A rerun's own case may end before anybody asks why it failed.
    kept.images.back().source = context.image.source;
  }
  kept.observations.insert(kept.observations.end(), observations->begin(),
                           observations->end());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Observation& observation = (*observations)[i];
    for (const StepObservation& step : observation.steps) {
      if (step.status != CallStatus::kOk) {
        *finding = {VerdictOf(step.status),
                    absl::StrCat("rerun ended in ", CallStatusName(step.status),
                                 ": ", step.message)};
        return absl::OkStatus();
      }
      if (!step.reports.empty()) {
        *finding = Finding::Fail(
            absl::StrCat("rerun: sanitizer report: ", step.reports.front()));
        return absl::OkStatus();
      }
      if (!step.strays.empty()) {
        const Stray& stray = step.strays.front();
        *finding = Finding::Fail(absl::StrCat(
            "rerun: ", stray.count, " stray bytes from byte ", stray.first,
            " of ", stray.tensor ? TensorName(*stray.tensor) : "the pool"));
        return absl::OkStatus();
      }
    }
    if (observation.steps.size() != images[i].steps.size()) {
      *finding = {Verdict::kProtocol,
                  absl::StrCat("rerun reports ", observation.steps.size(),
                               " of ", images[i].steps.size(), " steps")};
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<const Diagnosis> WhyWrong(const Contracts& contracts,
                                          Kernel kernel, const Reruns& reruns) {
  std::shared_ptr<const Diagnosis> unnamed;
  for (std::size_t i = 0; i < reruns.observations.size(); ++i) {
    const CaseImage& image = reruns.images[i];
    const Observation& observation = reruns.observations[i];
    for (const Check& check : Judge(contracts, image, observation)) {
      if (!IsFailure(check.verdict)) continue;
      auto why = std::make_shared<Diagnosis>(
          Diagnose(contracts, image, observation, check));
      if (check.kernel != kernel) why->kernel = check.kernel;
      if (!why->field.empty()) return why;
      if (unnamed != nullptr) continue;
      // Of two faults that show at once either is a reason. Asked once: it
      // costs more than the rerun.
      if (const auto both =
              DiagnoseTwoRules(contracts, image, observation, check, *why);
          both.has_value()) {
        auto one = std::make_shared<Diagnosis>((*both)[0]);
        one->kernel = why->kernel;
        return one;
      }
      unnamed = std::move(why);
    }
  }
  return unnamed;
}

absl::Status Rerun(const StepContext& context, const CaseImage& image,
                   Observation* observation, Finding* finding) {
  std::vector<CaseImage> images(1, image);
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok()) {
    return s;
  }
  if (!observations.empty()) *observation = std::move(observations[0]);
  return absl::OkStatus();
}

const std::vector<std::uint8_t>& FinalPool(const CaseImage& image,
                                           const Observation& observation) {
  for (auto step = observation.steps.rbegin(); step != observation.steps.rend();
       ++step) {
    if (step->pool.has_value()) return *step->pool;
  }
  return image.pool.bytes;
}

const std::vector<std::uint8_t>* OutputOf(const StepImage& step,
                                          const StepObservation& observation,
                                          TensorId id) {
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    if (step.tensors[i].id == id && step.tensors[i].output &&
        i < observation.outputs.size()) {
      return &observation.outputs[i];
    }
  }
  return nullptr;
}

std::string FirstPoolDifference(const PoolImage& pool,
                                const std::vector<std::uint8_t>& plain,
                                const std::vector<std::uint8_t>& other) {
  const auto [a, b] =
      std::mismatch(plain.begin(), plain.end(), other.begin(), other.end());
  if (a == plain.end() && b == other.end()) return "";
  const std::int64_t at = a - plain.begin();
  std::string where = absl::StrCat("pool byte ", at);
  const std::int64_t in_pool = at - pool.offset;
  if (in_pool < 0) {
    absl::StrAppend(&where, " (before page 0)");
  } else if (pool.page_stride > 0 && pool.row_stride > 0) {
    const std::int64_t page = in_pool / pool.page_stride;
    const std::int64_t row = in_pool % pool.page_stride / pool.row_stride;
    const std::int64_t in_page = in_pool % pool.page_stride;
    const std::int64_t behind = in_page - pool.page_size * pool.row_part;
    if (pool.split() && behind >= 0) {
      absl::StrAppend(&where, " (page ", page, ", byte ", behind,
                      " behind its rows)");
    } else {
      absl::StrAppend(&where, " (page ", page, ", row ", row, ", byte ",
                      in_page % pool.row_stride, ")");
    }
  }
  if (a == plain.end() || b == other.end()) {
    return absl::StrCat(where, ": sizes differ");
  }
  return absl::StrFormat("%s: 0x%02x, plain run 0x%02x", where, *b, *a);
}

std::string FirstTensorDifference(const Tensor& tensor,
                                  const std::vector<std::uint8_t>& plain,
                                  const std::vector<std::uint8_t>& other,
                                  bool any_nan) {
  if (plain == other) return "";
  if (plain.size() != other.size()) {
    return absl::StrCat(TensorName(tensor.id), ": sizes differ");
  }
  const std::size_t size = static_cast<std::size_t>(DTypeSize(tensor.dtype));
  const std::int64_t stride =
      tensor.ndim > 1 ? std::max<std::int64_t>(tensor.strides[0], 1) : 1;
  for (std::size_t i = 0; i + size <= plain.size(); i += size) {
    if (std::memcmp(&plain[i], &other[i], size) == 0) continue;
    if (any_nan && tensor.dtype == BF16 && IsNan16(&plain[i]) &&
        IsNan16(&other[i])) {
      continue;
    }
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, &plain[i], size);
    std::memcpy(&b, &other[i], size);
    const std::int64_t at = static_cast<std::int64_t>(i / size);
    return absl::StrFormat("%s[%d][%d]: 0x%0*x, plain run 0x%0*x",
                           TensorName(tensor.id), at / stride, at % stride,
                           static_cast<int>(2 * size), b,
                           static_cast<int>(2 * size), a);
  }
  return "";
}

bool AnyNan(const StepContext& context) {
  // The payloads of a decode's NaNs are nobody's promise.
  if (context.step.kernel == Kernel::kDecode) return true;
  return context.step.kernel == Kernel::kGather &&
         context.contract().gather().nan() == GatherContract::NAN_ANY;
}

Finding SameAsPlain(const StepContext& context, const CaseImage& image,
                    const StepObservation& other) {
  const std::vector<std::uint8_t>& after =
      other.pool.has_value() ? *other.pool : image.pool.bytes;
  if (std::string d =
          FirstPoolDifference(image.pool, context.pool_after(), after);
      !d.empty()) {
    return Finding::Fail(std::move(d));
  }
  for (std::size_t i = 0; i < context.step.tensors.size(); ++i) {
    const Tensor& tensor = context.step.tensors[i];
    if (!tensor.output) continue;
    if (std::string d =
            FirstTensorDifference(tensor, context.plain.outputs[i],
                                  other.outputs[i], AnyNan(context));
        !d.empty()) {
      return Finding::Fail(std::move(d));
    }
  }
  return {};
}

template <typename T>
T ElementAt(const Tensor& tensor, std::int64_t at) {
  T value;
  std::memcpy(&value,
              tensor.bytes.data() + at * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}
template std::int32_t ElementAt<std::int32_t>(const Tensor&, std::int64_t);
template std::int64_t ElementAt<std::int64_t>(const Tensor&, std::int64_t);

void SetElement(Tensor& tensor, std::int64_t at, std::int32_t value) {
  std::memcpy(tensor.bytes.data() + at * 4, &value, 4);
}

std::uint16_t Bits16At(const Tensor& tensor, std::int64_t row,
                       std::int64_t column) {
  std::uint16_t bits;
  std::memcpy(&bits,
              tensor.bytes.data() + (row * tensor.strides[0] + column) * 2, 2);
  return bits;
}

void SetBits16(Tensor& tensor, std::int64_t row, std::int64_t column,
               std::uint16_t bits) {
  std::memcpy(tensor.bytes.data() + (row * tensor.strides[0] + column) * 2,
              &bits, 2);
}

std::vector<StoredRow> StoredRows(const PoolImage& pool,
                                  const StepImage& step) {
  std::vector<StoredRow> rows;
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  for (std::int64_t t = 0; t < slots->shape[0]; ++t) {
    const std::int64_t slot = ElementAt<std::int64_t>(*slots, t);
    if (slot >= 0 && slot < pool.slots()) rows.push_back({t, slot});
  }
  return rows;
}

std::vector<StoredRow> StoredRows(const StepContext& context) {
  return StoredRows(context.image.pool, context.step);
}

bool SlotsDistinct(const PoolImage& pool, const StepImage& step) {
  std::vector<std::int64_t> slots;
  for (const StoredRow& row : StoredRows(pool, step)) slots.push_back(row.slot);
  std::sort(slots.begin(), slots.end());
  return std::adjacent_find(slots.begin(), slots.end()) == slots.end();
}

std::vector<RequestRows> RequestsOf(const StepImage& step) {
  std::vector<RequestRows> requests;
  const Tensor* dst = step.Find(TensorId::kDst);
  const Tensor* starts = step.Find(TensorId::kWorkspaceStarts);
  const Tensor* lens = step.Find(TensorId::kSeqLens);
  const Tensor* firsts = step.Find(TensorId::kSeqStarts);
  const std::int64_t entries = starts->shape[0];
  // Where codes are copied the last entry is the end of the last request.
  const std::int64_t n =
      step.Find(TensorId::kDstScales) == nullptr ? entries : entries - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t start = ElementAt<std::int32_t>(*starts, i);
    std::int64_t rows;
    if (lens != nullptr) {
      rows = ElementAt<std::int32_t>(*lens, i);
    } else {
      // Starts past the workspace mean its end.
      start = std::min(start, dst->shape[0]);
      const std::int64_t end =
          i + 1 < entries
              ? std::min<std::int64_t>(ElementAt<std::int32_t>(*starts, i + 1),
                                       dst->shape[0])
              : dst->shape[0];
      rows = end - start;
    }
    requests.push_back(
        {start, std::max<std::int64_t>(rows, 0),
         firsts == nullptr ? 0 : ElementAt<std::int32_t>(*firsts, i)});
  }
  return requests;
}

Tensor MakeList(TensorId id, const std::vector<std::int64_t>& values,
                DType dtype) {
  Tensor t;
  t.id = id;
  t.dtype = dtype;
  t.ndim = 1;
  t.shape = {static_cast<std::int64_t>(values.size()), 1, 1};
  t.strides = {1, 1, 1};
  const std::size_t size = static_cast<std::size_t>(DTypeSize(dtype));
  t.bytes.resize(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(t.bytes.data() + i * size, &values[i], size);
  }
  return t;
}

Tensor RowsOf(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t size = DTypeSize(tensor.dtype);
  Tensor t;
  t.id = tensor.id;
  t.dtype = tensor.dtype;
  t.output = tensor.output;
  t.ndim = tensor.ndim;
  t.shape = {count, tensor.shape[1], tensor.shape[2]};
  t.strides = tensor.strides;
  const std::int64_t columns =
      tensor.ndim == 1   ? 1
      : tensor.ndim == 2 ? tensor.shape[1]
      : tensor.shape[1] == 0
          ? 0
          : (tensor.shape[1] - 1) * tensor.strides[1] + tensor.shape[2];
  const std::int64_t begin = first * tensor.strides[0] * size;
  const std::int64_t length =
      count == 0 || columns == 0
          ? 0
          : ((count - 1) * tensor.strides[0] + columns) * size;
  t.misalignment =
      (tensor.misalignment + static_cast<std::size_t>(begin)) % 256;
  if (length > 0) {
    t.bytes.assign(tensor.bytes.begin() + begin,
                   tensor.bytes.begin() + begin + length);
  }
  return t;
}

bool RowsDisjoint(const Tensor& tensor) {
  return tensor.shape[0] <= 1 || tensor.strides[0] >= tensor.shape[1];
}

bool IsJudgedStep(const Contracts& contracts, const CaseImage& image, int index,
                  Kernel kernel) {
  const StepImage& step = image.steps[static_cast<std::size_t>(index)];
  if (step.is_patch || step.kernel != kernel) return false;
  const Contract* contract = contracts[static_cast<std::size_t>(kernel)];
  if (contract == nullptr) return false;
  const Validity validity = Classify(*contract, image, index).validity;
  return validity == Validity::kValid || validity == Validity::kBoundary;
}

}  // namespace mlafuzz
