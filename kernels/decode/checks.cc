#include "kernels/decode/checks.h"

#include "absl/strings/str_cat.h"
#include "kernels/layout.h"
#include "kernels/tensor_checks.h"

namespace mlafuzz {
namespace {

using kernels::kLatent;
using kernels::kMaxHeads;

// Bytes: a lane loads 16 codes at once.
constexpr std::int64_t kRowAlignment = 16;

std::string WantSize(const char* name, const char* what, std::int64_t got,
                     const char* other, std::int64_t want) {
  if (got == want) return "";
  return absl::StrCat(name, " has ", got, " ", what, ", ", other, " ", want);
}

std::string CheckQuery(const DecodeShape& shape, const DLTensor* q) {
  if (std::string why = WantShape("q", q, 3, kBf16); !why.empty()) return why;
  const std::int64_t pe_dim = q->shape[2] - kLatent;
  if (pe_dim < 0) {
    return absl::StrCat("q must have at least ", kLatent, " columns, got ",
                        q->shape[2]);
  }
  if (pe_dim != 0 && pe_dim != shape.rope_beyond) {
    return shape.rope_beyond == 0
               ? absl::StrCat("q must have ", kLatent, " columns, got ",
                              q->shape[2])
               : absl::StrCat("pe_dim must be 0 or ", shape.rope_beyond,
                              ", got ", pe_dim);
  }
  if (q->shape[1] < 1 || q->shape[1] > kMaxHeads) {
    return absl::StrCat("heads must be 1 to ", kMaxHeads, ", got ",
                        q->shape[1]);
  }
  return WantDense("q", *q);
}

std::string CheckCache(const DecodeShape& shape, const std::string& name,
                       const DLTensor* cache) {
  if (std::string why = WantShape(name.c_str(), cache, 3, kUint8);
      !why.empty()) {
    return why;
  }
  if (cache->shape[2] != shape.token_bytes) {
    return absl::StrCat(name, " row must be ", shape.token_bytes,
                        " bytes, got ", cache->shape[2]);
  }
  if (cache->shape[1] < 1) {
    return absl::StrCat(name == "kv_cache" ? "" : "extra ",
                        "page size must be at least 1, got ", cache->shape[1]);
  }
  if (std::string why = WantDense(name.c_str(), *cache); !why.empty()) {
    return why;
  }
  if (cache->shape[0] == 0) return "";
  const auto off = reinterpret_cast<std::uintptr_t>(Data(*cache)) %
                   static_cast<std::uintptr_t>(kRowAlignment);
  if (off != 0) {
    return absl::StrCat(name, " must be ", kRowAlignment,
                        "-byte aligned, its first row is ", off, " bytes off");
  }
  static constexpr const char* kNames[] = {"page", "row"};
  // Rows of a page with a footer have no stride of their own.
  const int strides =
      shape.layout == FP8_DS_MLA || shape.layout == NOPE_ROW_528 ? 2 : 1;
  for (int i = 0; i < strides; ++i) {
    if (cache->shape[i] > 1 && cache->strides[i] % kRowAlignment != 0) {
      return absl::StrCat(name, " ", kNames[i],
                          " stride must be a multiple of ", kRowAlignment,
                          " bytes, got ", cache->strides[i]);
    }
  }
  return "";
}

std::string CheckIndices(const char* name, const DLTensor* indices,
                         const char* lengths_name, const DLTensor* lengths,
                         std::int64_t queries) {
  if (std::string why = WantShape(name, indices, 2, kInt32); !why.empty()) {
    return why;
  }
  if (std::string why = WantSize(name, "rows", indices->shape[0], "q", queries);
      !why.empty()) {
    return why;
  }
  if (std::string why = WantDense(name, *indices); !why.empty()) return why;
  if (lengths == nullptr) return "";
  if (std::string why = WantShape(lengths_name, lengths, 1, kInt32);
      !why.empty()) {
    return why;
  }
  return WantSize(lengths_name, "entries", lengths->shape[0], "q", queries);
}

// A layout as messages name it.
std::string LayoutName(Layout layout) {
  return layout == FP8_DS_MLA ? "fp8_ds_mla" : Layout_Name(layout);
}

}  // namespace

std::string WhyRefuseDecode(const DecodeArgs& args, const DecodeShape& shape) {
  if (args.layout != shape.layout) {
    return absl::StrCat("layout must be ", LayoutName(shape.layout), " (",
                        static_cast<int>(shape.layout), "), got ",
                        static_cast<int>(args.layout));
  }
  MLAFUZZ_RETURN_IF_REFUSED(CheckQuery(shape, args.q));
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(shape, "kv_cache", args.cache));
  const std::int64_t queries = args.q->shape[0];
  const std::int64_t heads = args.q->shape[1];
  MLAFUZZ_RETURN_IF_REFUSED(
      CheckIndices("indices", args.indices, "lengths", args.lengths, queries));
  if (args.extra_cache != nullptr) {
    if (!shape.extra) {
      return absl::StrCat("a second cache is not taken with layout ",
                          LayoutName(shape.layout));
    }
    MLAFUZZ_RETURN_IF_REFUSED(
        CheckCache(shape, "extra_cache", args.extra_cache));
    MLAFUZZ_RETURN_IF_REFUSED(CheckIndices("extra_indices", args.extra_indices,
                                           "extra_lengths", args.extra_lengths,
                                           queries));
  }
  if (args.sinks != nullptr) {
    MLAFUZZ_RETURN_IF_REFUSED(WantShape("sinks", args.sinks, 1, kFp32));
    MLAFUZZ_RETURN_IF_REFUSED(
        WantSize("sinks", "entries", args.sinks->shape[0], "q heads", heads));
  }
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("out", args.out, 3, kBf16));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantSize("out", "rows", args.out->shape[0], "q", queries));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantSize("out", "heads", args.out->shape[1], "q", heads));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantSize("out", "columns", args.out->shape[2], "the latent", kLatent));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("out", *args.out));
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("lse", args.lse, 2, kFp32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantSize("lse", "rows", args.lse->shape[0], "q", queries));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantSize("lse", "heads", args.lse->shape[1], "q", heads));
  if (args.splits < 0) {
    return absl::StrCat("splits must not be negative, got ", args.splits);
  }
  return "";
}

kernels::DecodeParams ToParams(const DecodeArgs& args) {
  // Of base 2 from natural units, as the kernel's scores are.
  constexpr double kLog2E = 1.44269504088896340736;
  kernels::DecodeParams params{};
  params.cache = As<const std::uint8_t>(args.cache);
  params.page_stride = args.cache->strides[0];
  params.row_stride = args.cache->strides[1];
  params.page_size = args.cache->shape[1];
  params.q = As<const std::uint16_t>(args.q);
  params.queries = args.q->shape[0];
  params.heads = args.q->shape[1];
  params.rope = args.q->shape[2] != kLatent;
  params.q_query_stride = args.q->strides[0];
  params.q_head_stride = args.q->strides[1];
  params.indices = As<const std::int32_t>(args.indices);
  params.width = args.indices->shape[1];
  params.indices_row_stride = args.indices->strides[0];
  params.declared_topk = args.declared_topk;
  if (args.lengths != nullptr) {
    params.lengths = As<const std::int32_t>(args.lengths);
    params.lengths_stride = args.lengths->strides[0];
  }
  if (args.sinks != nullptr) {
    params.sinks = As<const float>(args.sinks);
    params.sinks_stride = args.sinks->strides[0];
  }
  if (args.extra_cache != nullptr) {
    params.extra_cache = As<const std::uint8_t>(args.extra_cache);
    params.extra_page_stride = args.extra_cache->strides[0];
    params.extra_page_size = args.extra_cache->shape[1];
    params.extra_indices = As<const std::int32_t>(args.extra_indices);
    params.extra_lanes = args.extra_indices->shape[1];
    params.extra_indices_row_stride = args.extra_indices->strides[0];
    if (args.extra_lengths != nullptr) {
      params.extra_lengths = As<const std::int32_t>(args.extra_lengths);
      params.extra_lengths_stride = args.extra_lengths->strides[0];
    }
  }
  params.out = As<std::uint16_t>(args.out);
  params.out_query_stride = args.out->strides[0];
  params.out_head_stride = args.out->strides[1];
  params.lse = As<float>(args.lse);
  params.lse_query_stride = args.lse->strides[0];
  params.lse_head_stride = args.lse->strides[1];
  params.scale_log2 = static_cast<float>(args.softmax_scale * kLog2E);
  return params;
}

}  // namespace mlafuzz
