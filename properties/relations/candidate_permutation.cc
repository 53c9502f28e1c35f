#include "properties/relations/candidate_permutation.h"

#include <utility>

#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {

bool CandidatePermutation::Applies(const Contract& contract,
                                   const CaseImage& image,
                                   const StepImage& step) {
  return step.Find(TensorId::kIndices)->shape[1] > 1 &&
         HasKeys(contract, image, step);
}

absl::Status CandidatePermutation::Run(StepContext& context, Finding* finding) {
  CaseImage image = OneStep(context);
  Tensor& indices = *image.steps[0].Find(TensorId::kIndices);
  std::vector<Lanes> rows = ActiveEntries(context.contract(), context.step);
  for (std::size_t query = 0; query < rows.size(); ++query) {
    Lanes& row = rows[query];
    for (std::size_t i = row.size(); i > 1; --i) {
      std::swap(row[i - 1],
                row[context.choices.Below(static_cast<std::uint32_t>(i))]);
    }
    // What lies past a length stays where it is.
    for (std::size_t i = 0; i < row.size(); ++i) {
      SetElement(indices,
                 static_cast<std::int64_t>(query) * indices.strides[0] +
                     static_cast<std::int64_t>(i),
                 row[i]);
    }
  }
  return RunAndCompare(context, image, {}, "candidates in another order",
                       finding);
}

}  // namespace mlafuzz
