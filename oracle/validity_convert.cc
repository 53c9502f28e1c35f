#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "oracle/convert_index.h"
#include "oracle/tensor_view.h"
#include "oracle/validity_parts.h"

namespace mlafuzz::oracle {
namespace {

class Classifier {
 public:
  Classifier(const ConvertContract& contract, const PoolImage& pool,
             const StepImage& step)
      : contract_(contract),
        pool_(pool),
        step_(step),
        table_(*step.Find(TensorId::kBlockTable)),
        requests_(*step.Find(TensorId::kRequestIds)),
        indices_(*step.Find(TensorId::kTokenIndices)),
        prefill_ids_(step.Find(TensorId::kPrefillIds)),
        converter_(contract, pool, step) {}

  StepValidity Run() {
    CheckShapes();
    CheckRows();
    return rules_.Take();
  }

 private:
  bool Checks(ConvertCheck check) const {
    return std::find(contract_.host_checks().begin(),
                     contract_.host_checks().end(),
                     check) != contract_.host_checks().end();
  }

  void CheckShapes() {
    const std::int64_t multiple =
        std::max<std::int64_t>(1, contract_.width_multiple());
    if (indices_.shape[1] % multiple != 0) {
      rules_.Misuse(Checks(CONVERT_CHECK_WIDTH), "convert.width", [&] {
        return absl::StrCat("width ", indices_.shape[1],
                            " is not a multiple of ", multiple);
      });
    }
    if (requests_.shape[0] != indices_.shape[0]) {
      rules_.Misuse(Checks(CONVERT_CHECK_TOKENS), "convert.tokens", [&] {
        return absl::StrCat(requests_.shape[0], " request ids for ",
                            indices_.shape[0], " rows of indices");
      });
    }
    if (prefill_ids_ != nullptr) CheckWorkspace();
    if (indices_.shape[0] == 0 || indices_.shape[1] == 0) {
      rules_.Boundary("convert.zero_rows", [&] {
        return absl::StrCat(indices_.shape[0], " rows of ", indices_.shape[1],
                            " indices");
      });
    }
  }

  void CheckWorkspace() {
    if (contract_.workspace() == ConvertContract::WORKSPACE_UNKNOWN) {
      rules_.Unspecified("convert.workspace",
                         [] { return "the call names a workspace"; });
    }
    const std::int64_t starts = Length(step_.Find(TensorId::kPrefillStarts));
    for (std::int64_t row = 0; row < prefill_ids_->shape[0]; ++row) {
      const std::int64_t id = Storage<std::int32_t>(prefill_ids_)[row];
      if (id < starts) continue;
      rules_.Unspecified("convert.prefill_request", [&] {
        return absl::StrCat("row ", row, " belongs to prefill request ", id,
                            " of ", starts);
      });
    }
  }

  void CheckRows() {
    const Storage<std::int32_t> request_of(&requests_);
    const std::int64_t rows = std::min(indices_.shape[0], requests_.shape[0]);
    bool any_valid = false;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t request = request_of[row];
      if (request < 0 || request >= table_.shape[0]) {
        const auto reason = [&] {
          return absl::StrCat("row ", row, " belongs to request ", request,
                              " of ", table_.shape[0]);
        };
        if (contract_.requests() == ConvertContract::REQUESTS_INVALID) {
          rules_.Boundary("convert.request_id", reason);
        } else {
          rules_.Unspecified("convert.request_id", reason);
        }
      }
      any_valid |= CheckIndices(row, request);
    }
    if (!any_valid) {
      rules_.Boundary("convert.all_invalid",
                      [] { return std::string("no index names a slot"); });
    }
  }

  // Whether any index of the row names a slot.
  bool CheckIndices(std::int64_t row, std::int64_t request) {
    const Storage<std::int32_t> token_of(&indices_);
    bool any_valid = false;
    for (std::int64_t i = 0; i < indices_.shape[1]; ++i) {
      const std::int32_t token = token_of[row * indices_.strides[0] + i];
      const ConvertedIndex index = converter_.Convert(row, request, token);
      if (index.kind == ConvertedIndex::Kind::kInvalid) continue;
      any_valid = true;
      const auto where = [&] {
        return absl::StrCat("row ", row, ", index ", i, " (token ", token,
                            "): ");
      };
      if (index.column < 0) {
        rules_.Unspecified("convert.negative_index", [&] {
          return absl::StrCat(where(), "column ", index.column);
        });
      } else if (index.in_workspace) {
        if (index.slot < 0 ||
            index.slot > std::numeric_limits<std::int32_t>::max()) {
          rules_.Unspecified("convert.workspace_row", [&] {
            return absl::StrCat(where(), "row ", index.slot, " of a workspace");
          });
        }
      } else if (index.column >= table_.shape[1]) {
        rules_.Unspecified("convert.table_columns", [&] {
          return absl::StrCat(where(), "column ", index.column, " of ",
                              table_.shape[1]);
        });
      } else if (index.kind == ConvertedIndex::Kind::kOutsideTable) {
        rules_.Unspecified("convert.table_row", [&] {
          return absl::StrCat(where(), "the table's storage has no entry");
        });
      } else if (contract_.pages() != ConvertContract::PAGES_OF_POOL) {
        continue;
      } else if (index.page < 0 || index.page >= pool_.pages) {
        rules_.Unspecified("convert.page_id", [&] {
          return absl::StrCat(where(), "page ", index.page, " of ",
                              pool_.pages);
        });
      } else if (index.slot > std::numeric_limits<std::int32_t>::max()) {
        rules_.Unspecified("convert.slot_overflow", [&] {
          return absl::StrCat(where(), "slot ", index.slot,
                              " does not fit into 32 bits");
        });
      }
    }
    return any_valid;
  }

  const ConvertContract& contract_;
  const PoolImage& pool_;
  const StepImage& step_;
  const Tensor& table_;
  const Tensor& requests_;
  const Tensor& indices_;
  const Tensor* prefill_ids_;
  const IndexConverter converter_;
  RuleCollector rules_;
};

}  // namespace

StepValidity ClassifyConvert(const ConvertContract& contract,
                             const PoolImage& pool, const StepImage& step) {
  return Classifier(contract, pool, step).Run();
}

}  // namespace mlafuzz::oracle
