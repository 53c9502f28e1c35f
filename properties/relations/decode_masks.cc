#include "properties/relations/decode_masks.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "oracle/decode/keys.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kMinusInf = 0xff800000;

// Lanes that the last block has left.
std::int64_t LanesLeft(const Contract& contract, const StepImage& step) {
  const std::int64_t block = contract.arithmetic().block();
  const std::int64_t width = step.Find(TensorId::kIndices)->shape[1];
  return block == 0 || width == 0 ? 0 : (block - width % block) % block;
}

absl::Status RunChanged(StepContext& context, const CaseImage& image,
                        const char* what, Finding* finding) {
  Observation observation;
  if (absl::Status s = Rerun(context, image, &observation, finding);
      !s.ok() || !finding->ok()) {
    if (!finding->ok()) {
      finding->detail = absl::StrCat(what, ": ", finding->detail);
    }
    return s;
  }
  const StepObservation& other = observation.steps[0];
  // Tensors may stand elsewhere in the list.
  for (std::size_t i = 0; i < context.step.tensors.size(); ++i) {
    const Tensor& t = context.step.tensors[i];
    if (!t.output) continue;
    const std::vector<std::uint8_t>* seen =
        OutputOf(image.steps[0], other, t.id);
    if (std::string d = FirstTensorDifference(t, context.plain.outputs[i],
                                              *seen, AnyNan(context));
        !d.empty()) {
      *finding = Finding::Fail(absl::StrCat(what, ": ", d));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool TrailingMask::Applies(const Contract& contract, const CaseImage&,
                           const StepImage& step) {
  return contract.decode().capacity() == DecodeContract::PHYSICAL_WIDTH &&
         !oracle::ReadsSlot0(contract.decode()) &&
         LanesLeft(contract, step) > 0;
}

absl::Status TrailingMask::Run(StepContext& context, Finding* finding) {
  const std::int64_t left = LanesLeft(context.contract(), context.step);
  const std::int64_t more =
      1 + context.choices.Below(static_cast<std::uint32_t>(left));
  CaseImage image = OneStep(context);
  WidenIndices(image.steps[0], more);
  return RunChanged(context, image, "with -1 appended", finding);
}

bool SinkAtMinusInfinity::Applies(const Contract&, const CaseImage&,
                                  const StepImage& step) {
  const Tensor* sinks = step.Find(TensorId::kSinks);
  for (std::int64_t i = 0; sinks != nullptr && i < sinks->shape[0]; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, sinks->bytes.data() + 4 * i * sinks->strides[0], 4);
    if (bits != kMinusInf) return false;
  }
  return true;
}

absl::Status SinkAtMinusInfinity::Run(StepContext& context, Finding* finding) {
  CaseImage image = OneStep(context);
  std::vector<Tensor>& tensors = image.steps[0].tensors;
  if (context.step.Find(TensorId::kSinks) != nullptr) {
    tensors.erase(
        std::find_if(tensors.begin(), tensors.end(),
                     [](const Tensor& t) { return t.id == TensorId::kSinks; }));
  } else {
    const std::int64_t heads = context.step.Find(TensorId::kQ)->shape[1];
    tensors.push_back(MakeList(
        TensorId::kSinks, std::vector<std::int64_t>(heads, kMinusInf), F32));
  }
  return RunChanged(context, image, "with or without a sink of -Inf", finding);
}

}  // namespace mlafuzz
