#include "properties/relations/head_shards.h"

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {

bool HeadShards::Applies(const Contract&, const CaseImage&,
                         const StepImage& step) {
  const Tensor& q = *step.Find(TensorId::kQ);
  return q.shape[0] > 0 && q.shape[1] > 1;
}

absl::Status HeadShards::Run(StepContext& context, Finding* finding) {
  const Tensor& q = *context.step.Find(TensorId::kQ);
  const std::int64_t heads = q.shape[1];
  const std::int64_t cut =
      1 + context.choices.Below(static_cast<std::uint32_t>(heads - 1));
  bool open = true;
  for (const auto& [first, count] :
       {std::pair{std::int64_t{0}, cut}, std::pair{cut, heads - cut}}) {
    CaseImage image = OneStep(context);
    image.steps[0] = HeadsOf(context.step, first, count);
    Agreement agreement;
    for (std::int64_t query = 0; query < q.shape[0]; ++query) {
      for (std::int64_t head = 0; head < count; ++head) {
        agreement.rows.push_back(query * heads + first + head);
      }
    }
    *finding = {};
    if (absl::Status s = RunAndCompare(
            context, image, agreement,
            absl::StrCat("heads ", first, " to ", first + count - 1, " of ",
                         heads, " alone")
                .c_str(),
            finding);
        !s.ok()) {
      return s;
    }
    if (!finding->ok() && finding->verdict != Verdict::kUninformative) {
      return absl::OkStatus();
    }
    open &= finding->verdict == Verdict::kUninformative;
  }
  if (!open) *finding = {};
  return absl::OkStatus();
}

}  // namespace mlafuzz
