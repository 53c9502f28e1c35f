#include "properties/relations/duplicates.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "properties/relations/decode_agreement.h"
#include "properties/relations/decode_call.h"

namespace mlafuzz {
namespace {

// Enough for several blocks; more is only slower.
constexpr std::int64_t kMostLanes = 1024;

}  // namespace

bool Duplicates::Applies(const Contract& contract, const CaseImage& image,
                         const StepImage& step) {
  const Tensor& indices = *step.Find(TensorId::kIndices);
  // All keys, as the shift of the LSE says: those of one cache.
  return step.Find(TensorId::kSinks) == nullptr &&
         step.Find(TensorId::kExtraCache) == nullptr &&
         2 * indices.shape[0] * indices.shape[1] <= kMostLanes &&
         contract.decode().empty_row() != DecodeContract::UNIT_WEIGHTS &&
         HasKeys(contract, image, step);
}

absl::Status Duplicates::Run(StepContext& context, Finding* finding) {
  std::vector<Lanes> rows = ActiveEntries(context.contract(), context.step);
  std::size_t lanes = 0;
  for (const Lanes& row : rows) lanes += row.size();
  std::size_t times =
      context.choices.OneIn(4) ? 64 : 2 + context.choices.Below(3);
  while (times > 2 && times * lanes > kMostLanes) times /= 2;
  const bool together = context.choices.OneIn(2);
  for (Lanes& row : rows) {
    Lanes more;
    for (std::size_t i = 0; i < times * row.size(); ++i) {
      more.push_back(row[together ? i / times : i % row.size()]);
    }
    row = more;
  }
  Decode* call;
  CaseImage image = OneDecode(context, &call);
  SetRows(image.steps[0], rows);
  // Contracts may have it refuse or clip the wider buffer.
  call->clear_declared_topk();
  Agreement agreement;
  const double n = static_cast<double>(times);
  agreement.lse_shift =
      context.contract().decode().lse_base() == DecodeContract::BASE_2
          ? std::log2(n)
          : std::log(n);
  return RunAndCompare(
      context, image, agreement,
      absl::StrCat("every candidate ", times, " times").c_str(), finding);
}

}  // namespace mlafuzz
