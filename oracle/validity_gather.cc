#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oracle/gather_rows.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/validity_parts.h"

namespace mlafuzz::oracle {
namespace {

class Classifier {
 public:
  Classifier(const GatherContract& contract, const PoolImage& pool,
             const StepImage& step)
      : contract_(contract),
        pool_(pool),
        step_(step),
        dst_(*step.Find(TensorId::kDst)),
        table_(*step.Find(TensorId::kBlockTable)),
        starts_(*step.Find(TensorId::kWorkspaceStarts)),
        seq_lens_(step.Find(TensorId::kSeqLens)),
        seq_starts_(step.Find(TensorId::kSeqStarts)) {}

  StepValidity Run() {
    CheckShapes();
    const std::vector<GatherRequest> requests =
        SplitRequests(contract_, pool_, step_);
    CheckRequests(requests);
    // A walk over all rows is long where many requests share them, and cannot
    // change a verdict of unspecified.
    if (!rules_.IsUnspecified()) CheckRows(RowsMeet(requests));
    return rules_.Take();
  }

 private:
  bool Checks(GatherCheck check) const {
    return std::find(contract_.host_checks().begin(),
                     contract_.host_checks().end(),
                     check) != contract_.host_checks().end();
  }

  void CheckShapes() {
    const RowLayout& layout = LayoutOf(pool_.layout);
    const DstShape shape = DstShapeOf(contract_, layout);
    if (dst_.shape[1] != shape.columns) {
      rules_.Misuse(Checks(GATHER_CHECK_DST_COLUMNS), "gather.dst_columns",
                    [&] {
                      return absl::StrCat("dst has ", dst_.shape[1],
                                          " columns, not ", shape.columns);
                    });
    }
    if (dst_.dtype != shape.dtype) {
      rules_.Misuse(Checks(GATHER_CHECK_DST_DTYPE), "gather.dst_dtype", [&] {
        return absl::StrCat("dst is ", DTypeName(dst_.dtype), ", not ",
                            DTypeName(shape.dtype));
      });
    }
    if (pool_.row_bytes != RowBytesOf(contract_, layout)) {
      rules_.Misuse(Checks(GATHER_CHECK_ROW_BYTES), "gather.row_bytes", [&] {
        return absl::StrCat("a cache row has ", pool_.row_bytes, " bytes, not ",
                            RowBytesOf(contract_, layout));
      });
    }
    if (contract_.rows() == GatherContract::ROWS_ONE_SCALE) CheckOneScale();
    const std::int64_t requests = RequestCount(step_);
    if (table_.shape[0] != requests ||
        (layout.copied && starts_.shape[0] < 1) ||
        (seq_lens_ != nullptr && seq_lens_->shape[0] != requests) ||
        (seq_starts_ != nullptr && seq_starts_->shape[0] != requests)) {
      rules_.Misuse(Checks(GATHER_CHECK_BATCH), "gather.batch", [&] {
        return absl::StrCat(starts_.shape[0], " workspace starts, ",
                            table_.shape[0], " table rows, ", Length(seq_lens_),
                            " lengths, ", Length(seq_starts_),
                            " sequence starts");
      });
    }
    // Bytes may stand anywhere.
    const bool bytes = contract_.rows() == GatherContract::ROWS_BYTES;
    if (!bytes &&
        (!IsAligned(pool_) || !IsAligned(dst_, layout.copied ? 4 : 16))) {
      rules_.Misuse(Checks(GATHER_CHECK_ALIGNMENT), "gather.alignment", [&] {
        return absl::StrCat(
            "cache base ", pool_.offset, " and strides ", pool_.row_stride,
            ", ", pool_.page_stride, " are not multiples of ",
            PoolAlignment(pool_), " bytes, or dst ", "base ", dst_.misalignment,
            " and row stride ", dst_.strides[0] * DTypeSize(dst_.dtype),
            " not of ", layout.copied ? 4 : 16);
      });
    }
    if (dst_.shape[0] > 1 && dst_.strides[0] < dst_.shape[1]) {
      rules_.Misuse(Checks(GATHER_CHECK_OVERLAP), "gather.overlap", [&] {
        return absl::StrCat("dst rows of ", dst_.shape[1], " columns lie ",
                            dst_.strides[0], " apart");
      });
    }
    const auto accepted = seq_lens_ != nullptr ? GatherContract::SEQ_LENS
                                               : GatherContract::FROM_STARTS;
    if (std::find(contract_.lengths().begin(), contract_.lengths().end(),
                  accepted) == contract_.lengths().end() ||
        (layout.copied && seq_starts_ != nullptr)) {
      rules_.Unspecified("gather.lengths", [&] {
        return absl::StrCat("lengths by ",
                            GatherContract::Lengths_Name(accepted),
                            " are not taken");
      });
    }
    if (dst_.shape[0] == 0) {
      rules_.Boundary("gather.zero_rows", [] { return "dst has no rows"; });
    } else if (requests == 0) {
      rules_.Boundary("gather.zero_requests", [] { return "no requests"; });
    }
  }

  void CheckOneScale() {
    const float scale =
        std::bit_cast<float>(step_.step->gather().tensor_scale_bits());
    if (scale > 0 && std::isfinite(scale)) return;
    rules_.Unspecified("gather.tensor_scale", [&] {
      return absl::StrCat("tensor_scale ", scale,
                          " is not a positive finite number");
    });
  }

  void CheckRequests(const std::vector<GatherRequest>& requests) {
    std::int64_t tasks = 0;
    for (const GatherRequest& r : requests) {
      tasks += r.tasks;
      if (r.first_token < 0) {
        rules_.Unspecified("gather.negative_seq_start", [&] {
          return absl::StrCat("request ", r.request, " begins at token ",
                              r.first_token);
        });
      }
      if (r.rows == 0) {
        rules_.Boundary("gather.empty_request", [&] {
          return absl::StrCat("request ", r.request, " has no rows");
        });
        continue;
      }
      if (r.first_row < 0) {
        rules_.Unspecified("gather.negative_start", [&] {
          return absl::StrCat("request ", r.request, " begins at dst row ",
                              r.first_row);
        });
      }
      if (r.first_row + r.rows > dst_.shape[0]) {
        rules_.Unspecified("gather.rows_past_dst", [&] {
          return absl::StrCat("request ", r.request, " ends at row ",
                              r.first_row + r.rows, " of ", dst_.shape[0]);
        });
      }
      if (r.first_token + r.rows > std::numeric_limits<std::int32_t>::max()) {
        rules_.Unspecified("gather.position_overflow", [&] {
          return absl::StrCat("request ", r.request, " ends at token ",
                              r.first_token + r.rows);
        });
      }
    }
    const std::int64_t limit = TaskLimit(contract_, pool_, step_);
    if (tasks > limit) {
      rules_.Unspecified("gather.page_tasks", [&] {
        return absl::StrCat(tasks, " page tasks, of which a launch holds ",
                            limit);
      });
    }
  }

  // Whether two requests own one row of dst.
  static bool RowsMeet(const std::vector<GatherRequest>& requests) {
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    std::vector<const GatherRequest*> order;
    bool sorted = true;
    for (const GatherRequest& r : requests) {
      if (r.rows == 0) continue;
      sorted &= r.first_row >= end;
      end = r.first_row + r.rows;
      order.push_back(&r);
    }
    if (sorted) return false;
    std::sort(order.begin(), order.end(),
              [](const GatherRequest* a, const GatherRequest* b) {
                return a->first_row < b->first_row;
              });
    end = std::numeric_limits<std::int64_t>::min();
    for (const GatherRequest* r : order) {
      if (r->first_row < end) return true;
      end = r->first_row + r->rows;
    }
    return false;
  }

  void CheckRows(bool rows_meet) {
    using Source = GatherRow::Source;
    const std::int64_t columns = table_.shape[1];
    // Where requests share rows of dst, what each row comes from: equal
    // sources agree on the result in any order.
    std::vector<std::int64_t> slot_of;
    if (rows_meet) slot_of.assign(static_cast<std::size_t>(dst_.shape[0]), -1);
    ForEachGatherRow(contract_, pool_, step_, [&](const GatherRow& row) {
      const auto where = [&] {
        return absl::StrCat("request ", row.request, ", token ", row.token,
                            ": ");
      };
      if (row.source == Source::kSkipped) {
        rules_.Boundary("gather.table_columns", [&] {
          return absl::StrCat(where(), "column ", row.column, " of ", columns);
        });
        return;
      }
      if (row.column >= columns) {
        rules_.Unspecified("gather.table_columns", [&] {
          return absl::StrCat(where(), "column ", row.column, " of ", columns);
        });
      } else if (row.source == Source::kOutsideTable) {
        rules_.Unspecified("gather.table_row", [&] {
          return absl::StrCat(where(), "the table's storage has no entry");
        });
      } else if (row.source == Source::kOutsidePool) {
        rules_.Unspecified("gather.page_id", [&] {
          return absl::StrCat(where(), "page ", row.page, " of ", pool_.pages);
        });
      }
      if (!rows_meet) return;
      std::int64_t& slot = slot_of[static_cast<std::size_t>(row.row)];
      if (slot >= 0 && slot != row.slot) {
        rules_.Unspecified("gather.overlapping_requests", [&] {
          return absl::StrCat(where(), "dst row ", row.row, " comes from slot ",
                              slot, " too");
        });
      }
      slot = row.slot;
    });
  }

  const GatherContract& contract_;
  const PoolImage& pool_;
  const StepImage& step_;
  const Tensor& dst_;
  const Tensor& table_;
  const Tensor& starts_;
  const Tensor* seq_lens_;
  const Tensor* seq_starts_;
  RuleCollector rules_;
};

}  // namespace

StepValidity ClassifyGather(const GatherContract& contract,
                            const PoolImage& pool, const StepImage& step) {
  return Classifier(contract, pool, step).Run();
}

}  // namespace mlafuzz::oracle
