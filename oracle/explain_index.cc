#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "oracle/convert_index.h"
#include "oracle/explain_parts.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

constexpr char kSource[] =
    "vLLM v1/attention/backends/mla/sparse_utils.py, "
    "triton_convert_req_index_to_global_index";

// Where an index leads.
std::string PlaceWords(const ConvertedIndex& index) {
  if (index.in_workspace) {
    return absl::StrCat(", row ", index.slot, " of the workspace");
  }
  if (index.kind == ConvertedIndex::Kind::kSlot) {
    return absl::StrCat(", page ", index.page, ", slot ", index.slot);
  }
  return ", names no slot";
}

}  // namespace

void ExplainIndex(const ComparedStep& compared, const Region& wrong,
                  std::string* text) {
  if (wrong.tensor < 0) {
    absl::StrAppend(text, "  index conversion does not see the pool\n");
    return;
  }
  const StepImage& step = compared.step;
  const Tensor& out = step.tensors[static_cast<std::size_t>(wrong.tensor)];
  const Tensor& tokens = *step.Find(TensorId::kTokenIndices);
  const Storage<std::int32_t> request_of(step.Find(TensorId::kRequestIds));
  const Storage<std::int32_t> token_of(&tokens);
  const ConvertContract& rules = compared.contract.convert();
  if (out.id == TensorId::kValidCount) {
    absl::StrAppend(text, "  rule convert.valid_count: ",
                    ConvertContract::ValidCount_Name(rules.valid_count()),
                    "\n");
    return;
  }
  if (out.strides[0] <= 0) return;
  const std::int64_t row = wrong.at / 4 / out.strides[0];
  const std::int64_t column = wrong.at / 4 % out.strides[0];
  if (column >= out.shape[1] || !request_of.Has(row)) return;
  const std::int32_t token = token_of[row * tokens.strides[0] + column];
  const ConvertedIndex index = IndexConverter(rules, compared.image.pool, step)
                                   .Convert(row, request_of[row], token);
  absl::StrAppend(text, "  token_indices[", row, ", ", column, "]: ", token,
                  ", request ", request_of[row], ", table column ",
                  index.column);
  if (const Storage<std::int32_t> prefill(step.Find(TensorId::kPrefillIds));
      prefill.Has(row)) {
    absl::StrAppend(text, ", prefill request ", prefill[row],
                    " (convert.workspace: ",
                    ConvertContract::Workspace_Name(rules.workspace()), ")");
  }
  absl::StrAppend(
      text, PlaceWords(index), "\n  rules convert.invalid: ",
      ConvertContract::Invalid_Name(rules.invalid()),
      ", convert.negative: ", ConvertContract::Negative_Name(rules.negative()),
      ", convert.table_columns: ",
      ConvertContract::TableColumns_Name(rules.table_columns()),
      ", convert.order: ", ConvertContract::Order_Name(rules.order()), " (",
      kSource, ")\n");
}

}  // namespace mlafuzz::oracle
