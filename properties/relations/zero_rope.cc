#include "properties/relations/zero_rope.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kRope = 64;

bool Accepts(const WriterContract& writer, std::uint32_t pe_dim) {
  return std::find(writer.pe_dims().begin(), writer.pe_dims().end(), pe_dim) !=
         writer.pe_dims().end();
}

}  // namespace

bool ZeroRope::Applies(const Contract& contract, const CaseImage&,
                       const StepImage&) {
  const WriterContract& w = contract.writer();
  return w.tail() == WriterContract::TAIL_ZERO && Accepts(w, 0) &&
         Accepts(w, kRope);
}

absl::Status ZeroRope::Run(StepContext& context, Finding* finding) {
  std::vector<CaseImage> images(2, OneStep(context));
  // Without rope.
  std::vector<Tensor>& nope = images[0].steps[0].tensors;
  nope.erase(
      std::remove_if(nope.begin(), nope.end(),
                     [](const Tensor& t) { return t.id == TensorId::kKPe; }),
      nope.end());
  // With a rope of +0.
  Tensor zero;
  const Tensor& kv = *context.step.Find(TensorId::kKvC);
  zero.id = TensorId::kKPe;
  zero.dtype = kv.dtype;
  zero.ndim = 2;
  zero.shape = {kv.shape[0], kRope};
  zero.strides = {kRope, 1};
  zero.bytes.assign(
      static_cast<std::size_t>(kv.shape[0] * kRope * DTypeSize(kv.dtype)), 0);
  images[1].steps[0] = images[0].steps[0];
  images[1].steps[0].tensors.push_back(std::move(zero));
  std::vector<Observation> observations;
  if (absl::Status s = Rerun(context, images, &observations, finding);
      !s.ok() || !finding->ok()) {
    return s;
  }
  if (std::string d = FirstPoolDifference(
          context.image.pool, FinalPool(images[1], observations[1]),
          FinalPool(images[0], observations[0]));
      !d.empty()) {
    *finding =
        Finding::Fail(absl::StrCat("pe_dim 0 against a rope of zeros: ", d));
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
