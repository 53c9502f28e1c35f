#include "properties/relations/query_length.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {

bool QueryLength::Applies(const Contract&, const CaseImage&,
                          const StepImage& step) {
  return step.Find(TensorId::kQ)->shape[0] > 1;
}

absl::Status QueryLength::Run(StepContext& context, Finding* finding) {
  Decode* call;
  const CaseImage image = OneDecode(context, &call);
  const std::uint32_t queries =
      static_cast<std::uint32_t>(context.step.Find(TensorId::kQ)->shape[0]);
  const std::uint32_t given = std::max<std::uint32_t>(call->query_length(), 1);
  const std::uint32_t other = given == 1 ? queries : 1;
  call->set_query_length(other);
  return RunAndCompare(context, image, {},
                       absl::StrCat(queries, " queries, ", other,
                                    " a request instead of ", given)
                           .c_str(),
                       finding);
}

}  // namespace mlafuzz
