#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"
#include "oracle/validity_parts.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

class Classifier {
 public:
  Classifier(const WriterContract& contract, const PoolImage& pool,
             const StepImage& step)
      : contract_(contract),
        pool_(pool),
        kv_c_(*step.Find(TensorId::kKvC)),
        k_pe_(step.Find(TensorId::kKPe)),
        slots_(*step.Find(TensorId::kSlotMapping)) {}

  StepValidity Run() {
    CheckShapes();
    CheckPlacement();
    CheckSlots();
    return rules_.Take();
  }

 private:
  bool Checks(WriterCheck check) const {
    return std::find(contract_.host_checks().begin(),
                     contract_.host_checks().end(),
                     check) != contract_.host_checks().end();
  }

  template <typename List, typename T>
  static bool Contains(const List& list, T value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }

  void CheckShapes() {
    const int latent = LayoutOf(pool_.layout).codes;
    if (kv_c_.shape[1] != latent) {
      rules_.Misuse(Checks(WRITER_CHECK_LATENT_DIM), "writer.latent_dim", [&] {
        return absl::StrCat("kv_c has ", kv_c_.shape[1], " columns, not ",
                            latent);
      });
    }
    const std::int64_t pe_dim = k_pe_ == nullptr ? 0 : k_pe_->shape[1];
    if (!Contains(contract_.pe_dims(), pe_dim)) {
      rules_.Misuse(Checks(WRITER_CHECK_PE_DIM), "writer.pe_dim", [&] {
        return absl::StrCat("pe_dim ", pe_dim, " is not one of {",
                            absl::StrJoin(contract_.pe_dims(), ", "), "}");
      });
    }
    if (!HasRowBytes(pool_)) {
      rules_.Misuse(Checks(WRITER_CHECK_ROW_BYTES), "writer.row_bytes", [&] {
        return absl::StrCat("a cache row has ", pool_.row_bytes, " bytes, not ",
                            LayoutOf(pool_.layout).row_bytes);
      });
    }
    if (!Contains(contract_.inputs(), kv_c_.dtype) ||
        (k_pe_ != nullptr && k_pe_->dtype != kv_c_.dtype)) {
      rules_.Misuse(
          Checks(WRITER_CHECK_INPUT_DTYPE), "writer.input_dtype", [&] {
            return absl::StrCat(
                "kv_c is ", DTypeName(kv_c_.dtype), ", k_pe ",
                k_pe_ == nullptr ? "absent" : DTypeName(k_pe_->dtype));
          });
    }
    const std::int64_t tokens = slots_.shape[0];
    if (kv_c_.shape[0] < tokens ||
        (k_pe_ != nullptr && k_pe_->shape[0] < tokens)) {
      rules_.Misuse(
          Checks(WRITER_CHECK_SOURCE_ROWS), "writer.source_rows", [&] {
            return absl::StrCat(tokens, " slots, but kv_c has ", kv_c_.shape[0],
                                " rows and k_pe ", Length(k_pe_));
          });
    }
  }

  void CheckPlacement() {
    const bool checked = Checks(WRITER_CHECK_ALIGNMENT);
    if (!IsAligned(kv_c_, 16)) {
      rules_.Misuse(checked, "writer.alignment",
                    [&] { return Placement("kv_c", kv_c_, 16); });
    }
    if (k_pe_ != nullptr && !IsAligned(*k_pe_, 4)) {
      rules_.Misuse(checked, "writer.alignment",
                    [&] { return Placement("k_pe", *k_pe_, 4); });
    }
    if (!IsAligned(pool_)) {
      rules_.Misuse(checked, "writer.alignment", [&] {
        return absl::StrCat("cache base ", pool_.offset, ", row stride ",
                            pool_.row_stride, " or page stride ",
                            pool_.page_stride, " is not a multiple of ",
                            PoolAlignment(pool_), " bytes");
      });
    }
    if (Overlaps(pool_)) {
      rules_.Misuse(Checks(WRITER_CHECK_OVERLAP), "writer.overlap", [&] {
        return absl::StrCat("row stride ", pool_.row_stride, " or page stride ",
                            pool_.page_stride, " lets rows overlap");
      });
    }
  }

  static std::string Placement(const char* name, const Tensor& tensor,
                               int alignment) {
    return absl::StrCat(name, " base ", tensor.misalignment, " or row stride ",
                        tensor.strides[0] * DTypeSize(tensor.dtype),
                        " bytes is not a multiple of ", alignment);
  }

  void CheckSlots() {
    const Storage<std::int64_t> slot_of(&slots_);
    const std::int64_t tokens = slots_.shape[0];
    if (tokens == 0) {
      const auto reason = [] { return std::string("no tokens"); };
      if (contract_.zero_tokens() == WriterContract::ZERO_TOKENS_LAUNCH_ERROR) {
        rules_.Unspecified("writer.zero_tokens", reason);
      } else {
        rules_.Boundary("writer.zero_tokens", reason);
      }
      return;
    }
    absl::InlinedVector<std::int64_t, 128> used;
    bool ascending = true;
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t slot = slot_of[token];
      if (SkipsSlot(contract_, pool_.slots(), slot)) continue;
      if (slot < 0) {
        rules_.Unspecified("writer.negative_slot", [&] {
          return absl::StrCat("token ", token, " has slot ", slot);
        });
      } else if (slot >= pool_.slots()) {
        rules_.Unspecified("writer.slot_past_pool", [&] {
          return absl::StrCat("token ", token, " has slot ", slot, " of ",
                              pool_.slots());
        });
      }
      ascending &= used.empty() || used.back() < slot;
      used.push_back(slot);
    }
    if (used.empty()) {
      rules_.Boundary("writer.all_skipped", [&] {
        return absl::StrCat("all ", tokens, " slots are skipped");
      });
    }
    if (ascending ||
        contract_.duplicates() != WriterContract::DUPLICATES_RACE) {
      return;
    }
    std::sort(used.begin(), used.end());
    const auto twice = std::adjacent_find(used.begin(), used.end());
    if (twice != used.end()) {
      rules_.Unspecified("writer.duplicate_slots", [&] {
        return absl::StrCat("slot ", *twice, " occurs more than once");
      });
    }
  }

  const WriterContract& contract_;
  const PoolImage& pool_;
  const Tensor& kv_c_;
  const Tensor* k_pe_;
  const Tensor& slots_;
  RuleCollector rules_;
};

}  // namespace

StepValidity ClassifyWrite(const WriterContract& contract,
                           const PoolImage& pool, const StepImage& step) {
  return Classifier(contract, pool, step).Run();
}

}  // namespace mlafuzz::oracle
