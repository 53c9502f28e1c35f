#include "oracle/decode/validity_decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/interval.h"
#include "oracle/decode/keys.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz {
namespace {

constexpr std::int64_t kMaxHeads = 128;
constexpr std::int64_t kRowAlignment = 16;

class Classifier {
 public:
  Classifier(const Contract& contract, const CaseImage& image, int step)
      : contract_(contract.decode()),
        pool_(image.pool),
        layout_(oracle::LayoutOf(image.pool.layout)),
        step_(image.steps[static_cast<std::size_t>(step)]),
        call_(step_.step->decode()) {}

  StepValidity Run() {
    if (!oracle::IsDecoded(layout_)) {
      Keep(Validity::kUnspecified, "decode.layout",
           [] { return "rows of this layout are not decoded"; });
      return std::move(kept_);
    }
    CheckShapes();
    CheckExtra();
    CheckCapacity();
    CheckLengths();
    CheckScale();
    CheckIndices();
    return std::move(kept_);
  }

 private:
  using Reason = std::function<std::string()>;

  static int Strength(Validity validity) {
    switch (validity) {
      case Validity::kValid:
        return 0;
      case Validity::kBoundary:
        return 1;
      case Validity::kInvalid:
        return 2;
      case Validity::kUnspecified:
        return 3;
    }
    return 0;
  }

  // The strongest rule stands, of equals the first.
  void Keep(Validity validity, const char* rule, const Reason& reason) {
    if (Strength(validity) <= Strength(kept_.validity)) return;
    kept_ = {.validity = validity, .rule = rule, .reason = reason()};
  }

  void Misuse(DecodeCheck check, const char* rule, const Reason& reason) {
    const auto& checks = contract_.host_checks();
    const bool checked =
        std::find(checks.begin(), checks.end(), check) != checks.end();
    Keep(checked ? Validity::kInvalid : Validity::kUnspecified, rule, reason);
  }

  void CheckShapes() {
    const Tensor& q = *step_.Find(TensorId::kQ);
    const Tensor& indices = *step_.Find(TensorId::kIndices);
    const Tensor* lengths = step_.Find(TensorId::kLengths);
    const Tensor* sinks = step_.Find(TensorId::kSinks);
    const std::int64_t pe_dim = q.shape[2] - oracle::kLatentColumns;
    const auto& pe_dims = contract_.pe_dims();
    // Rope beyond the row's values.
    const int rope = layout_.columns() - oracle::kLatentColumns;
    const bool known = pe_dim == 0 || pe_dim == rope;
    if (!known ||
        std::find(pe_dims.begin(), pe_dims.end(), pe_dim) == pe_dims.end()) {
      Misuse(DECODE_CHECK_PE_DIM, "decode.pe_dim", [&] {
        return absl::StrCat("pe_dim ", pe_dim, " is not one of {",
                            absl::StrJoin(pe_dims, ", "), "}");
      });
    }
    CheckRowBytes(pool_);
    if (indices.shape[0] != q.shape[0] ||
        (lengths != nullptr && lengths->shape[0] != q.shape[0])) {
      Misuse(DECODE_CHECK_BATCH, "decode.batch", [&] {
        return absl::StrCat(
            q.shape[0], " queries, ", indices.shape[0], " index rows",
            lengths == nullptr
                ? std::string()
                : absl::StrCat(", ", lengths->shape[0], " lengths"));
      });
    }
    if (q.shape[1] < 1 || q.shape[1] > kMaxHeads ||
        (sinks != nullptr && sinks->shape[0] != q.shape[1])) {
      Misuse(DECODE_CHECK_HEADS, "decode.heads", [&] {
        return absl::StrCat(
            q.shape[1], " heads (1 to ", kMaxHeads, ")",
            sinks == nullptr ? std::string()
                             : absl::StrCat(", ", sinks->shape[0], " sinks"));
      });
    }
    CheckAlignment(pool_, pool_.offset);
    if (q.shape[0] == 0) {
      Keep(Validity::kBoundary, "decode.zero_queries",
           [] { return "no queries"; });
    }
  }

  void CheckRowBytes(const PoolImage& pool) {
    const std::int64_t row_bytes = layout_.row_bytes;
    if (pool.row_bytes == row_bytes) return;
    Misuse(DECODE_CHECK_ROW_BYTES, "decode.row_bytes", [&] {
      return absl::StrCat("a cache row has ", pool.row_bytes, " bytes, not ",
                          row_bytes);
    });
  }

  void CheckAlignment(const PoolImage& pool, std::int64_t base) {
    if (base % kRowAlignment == 0 &&
        (pool.page_size <= 1 || pool.row_stride % kRowAlignment == 0) &&
        (pool.pages <= 1 || pool.page_stride % kRowAlignment == 0)) {
      return;
    }
    Misuse(DECODE_CHECK_ALIGNMENT, "decode.alignment", [&] {
      return absl::StrCat("cache base ", base, " and strides ", pool.row_stride,
                          ", ", pool.page_stride, " are not multiples of ",
                          kRowAlignment, " bytes");
    });
  }

  void CheckExtra() {
    const Tensor* cache = step_.Find(TensorId::kExtraCache);
    if (cache == nullptr) return;
    if (pool_.layout != DSV4_FOOTER_584) {
      Keep(Validity::kUnspecified, "decode.extra",
           [] { return "a second cache, which this layout does not have"; });
      return;
    }
    const Tensor& q = *step_.Find(TensorId::kQ);
    const Tensor& indices = *step_.Find(TensorId::kExtraIndices);
    const Tensor* lengths = step_.Find(TensorId::kExtraLengths);
    CheckRowBytes(step_.extra);
    CheckAlignment(step_.extra, static_cast<std::int64_t>(cache->misalignment));
    if (indices.shape[0] != q.shape[0] ||
        (lengths != nullptr && lengths->shape[0] != q.shape[0])) {
      Misuse(DECODE_CHECK_BATCH, "decode.batch", [&] {
        return absl::StrCat(q.shape[0], " queries, ", indices.shape[0],
                            " index rows of the second cache");
      });
    }
  }

  void CheckCapacity() {
    const std::int64_t width = step_.Find(TensorId::kIndices)->shape[1];
    if (contract_.capacity() == DecodeContract::DECLARED_TOPK_REFUSES &&
        call_.declared_topk() > 0 && width != call_.declared_topk()) {
      Keep(Validity::kInvalid, "decode.capacity", [&] {
        return absl::StrCat("indices are ", width, " wide, the declared top-k ",
                            "is ", call_.declared_topk());
      });
    }
  }

  void CheckLengths() {
    if (contract_.lengths_demand() != DecodeContract::LENGTHS_DEMANDED ||
        step_.Find(TensorId::kLengths) != nullptr) {
      return;
    }
    Keep(Validity::kInvalid, "decode.lengths_demand",
         [] { return "the call gives no lengths"; });
  }

  void CheckScale() {
    const float scale = std::bit_cast<float>(call_.softmax_scale_bits());
    if (!(scale >= static_cast<float>(oracle::kFp32MinNormal)) ||
        !std::isfinite(scale)) {
      Keep(Validity::kUnspecified, "decode.softmax_scale", [&] {
        return absl::StrCat("softmax_scale ", scale,
                            " is not a positive normal number");
      });
    }
  }

  // What lanes that count name. Lanes past a length hold anything.
  void CheckIndices() {
    CheckIndices(*step_.Find(TensorId::kIndices), pool_, "",
                 [&](std::int64_t n) {
                   return oracle::ActiveLanes(contract_, step_, n);
                 });
    if (const Tensor* extra = oracle::ExtraIndices(contract_, step_)) {
      CheckIndices(*extra, step_.extra, " of the second row",
                   [&](std::int64_t n) {
                     return oracle::ExtraActiveLanes(contract_, step_, n);
                   });
    }
  }

  template <class Active>
  void CheckIndices(const Tensor& indices, const PoolImage& pool,
                    const char* which, const Active& active) {
    const oracle::Storage<std::int32_t> storage(&indices);
    const std::int64_t queries =
        std::min(indices.shape[0], step_.Find(TensorId::kQ)->shape[0]);
    for (std::int64_t n = 0; n < queries; ++n) {
      const std::int64_t count = active(n);
      for (std::int64_t lane = 0; lane < count; ++lane) {
        const std::int64_t element =
            n * indices.strides[0] + lane * indices.strides[1];
        if (!storage.Has(element)) continue;
        const std::int32_t index = storage[element];
        if (oracle::MasksIndex(contract_, index)) continue;
        if (index >= 0 && index < pool.slots()) continue;
        Keep(Validity::kUnspecified,
             index < 0 ? "decode.negative_index" : "decode.index_past_pool",
             [&] {
               return absl::StrCat("index ", index, " (query ", n, ", lane ",
                                   lane, which, ") with ", pool.slots(),
                                   " slots");
             });
        return;
      }
    }
  }

  const DecodeContract& contract_;
  const PoolImage& pool_;
  const oracle::RowLayout& layout_;
  const StepImage& step_;
  const Decode& call_;
  StepValidity kept_;
};

}  // namespace

StepValidity ClassifyDecode(const Contract& contract, const CaseImage& image,
                            int step) {
  return Classifier(contract, image, step).Run();
}

}  // namespace mlafuzz
