#include "kernels/host_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/layout.h"
#include "kernels/tensor_checks.h"

namespace mlafuzz {
namespace {

using kernels::kLatent;
using kernels::kRope;
using kernels::kRowBytes;
using kernels::kWorkspaceColumns;

// Whose token has so many bytes, in words; empty: nobody's. Other layouts go by
// the label fp8_ds_mla too, and then a cache's last dimension is all that tells
// them apart.
const char* OwnerOf(std::int64_t bytes) {
  switch (bytes) {
    case 132:
      return ": INDEXER_132, not FP8_DS_MLA";
    case 264:
      return ": INDEXER_264, not FP8_DS_MLA";
    case 528:
      return ": NOPE_ROW_528 or DSV4_1_FOOTER_528, not FP8_DS_MLA";
    case 584:
      return ": DSV4_FOOTER_584, not FP8_DS_MLA";
    default:
      return "";
  }
}

std::string CheckLayout(Layout layout) {
  if (layout == FP8_DS_MLA) return "";
  const int number = static_cast<int>(layout);
  return absl::StrCat("layout must be fp8_ds_mla (1), got ", number,
                      number > FP8_DS_MLA && Layout_IsValid(number)
                          ? absl::StrCat(" (", Layout_Name(layout), ")")
                          : "");
}

std::string CheckCache(const DLTensor* cache) {
  if (std::string why = WantShape("kv_cache", cache, 3, kUint8); !why.empty()) {
    return why;
  }
  if (cache->shape[2] != kRowBytes) {
    return absl::StrCat("kv_cache row must be ", kRowBytes, " bytes, got ",
                        cache->shape[2], OwnerOf(cache->shape[2]));
  }
  if (cache->shape[1] < 1) {
    return absl::StrCat("page size must be at least 1, got ", cache->shape[1]);
  }
  if (std::string why = WantDense("kv_cache", *cache); !why.empty()) return why;
  return WantAligned("kv_cache", *cache, 8);
}

std::string CheckNoOverlap(const DLTensor& cache) {
  const std::int64_t pages = cache.shape[0];
  const std::int64_t rows = cache.shape[1];
  if (rows > 1 && cache.strides[1] < kRowBytes) {
    return absl::StrCat("kv_cache rows overlap: ", kRowBytes,
                        " bytes each, stride ", cache.strides[1]);
  }
  const std::int64_t page = (rows - 1) * cache.strides[1] + kRowBytes;
  if (pages > 1 && cache.strides[0] < page) {
    return absl::StrCat("kv_cache pages overlap: ", page,
                        " bytes each, stride ", cache.strides[0]);
  }
  return "";
}

bool HasRope(const WriteArgs& args) {
  return args.k_pe != nullptr && args.k_pe->shape[1] != 0;
}

}  // namespace

namespace {

std::string CheckWrite(const WriteArgs& args, bool fp32) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckLayout(args.layout));
  if (args.kv_c == nullptr || args.kv_c->ndim != 2) {
    return "kv_c must have 2 dimensions";
  }
  const DLTensor& kv_c = *args.kv_c;
  if (fp32 ? !Is(kv_c, kFp32) : !Is(kv_c, kBf16) && !Is(kv_c, kFp16)) {
    return absl::StrCat("kv_c must be ", fp32 ? "f32" : "bf16 or f16", ", got ",
                        Name(kv_c.dtype));
  }
  if (kv_c.shape[1] != kLatent) {
    return absl::StrCat("kv_lora_rank must be ", kLatent, ", got ",
                        kv_c.shape[1]);
  }
  if (args.k_pe != nullptr) {
    const DLTensor& k_pe = *args.k_pe;
    if (k_pe.ndim != 2) return "k_pe must have 2 dimensions";
    if (k_pe.shape[1] != kRope && k_pe.shape[1] != 0) {
      return absl::StrCat("pe_dim must be 0 or ", kRope, ", got ",
                          k_pe.shape[1]);
    }
    if (!Is(k_pe, kv_c.dtype)) {
      return absl::StrCat("k_pe must be ", Name(kv_c.dtype), " as kv_c, got ",
                          Name(k_pe.dtype));
    }
  }
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("slot_mapping", args.slot_mapping, 1, kInt64));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("slot_mapping", *args.slot_mapping));
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(args.cache));
  MLAFUZZ_RETURN_IF_REFUSED(CheckNoOverlap(*args.cache));
  const std::int64_t slots = args.slot_mapping->shape[0];
  MLAFUZZ_RETURN_IF_REFUSED(WantSourceRows("kv_c", kv_c, slots));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("kv_c", kv_c));
  MLAFUZZ_RETURN_IF_REFUSED(WantAligned("kv_c", kv_c, 16));
  if (HasRope(args)) {
    MLAFUZZ_RETURN_IF_REFUSED(WantSourceRows("k_pe", *args.k_pe, slots));
    MLAFUZZ_RETURN_IF_REFUSED(WantDense("k_pe", *args.k_pe));
    MLAFUZZ_RETURN_IF_REFUSED(WantAligned("k_pe", *args.k_pe, 4));
  }
  return "";
}

}  // namespace

std::string WhyRefuseWrite(const WriteArgs& args) {
  return CheckWrite(args, /*fp32=*/false);
}
std::string WhyRefuseFp32Write(const WriteArgs& args) {
  return CheckWrite(args, /*fp32=*/true);
}

std::string CheckTable(const GatherArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("block_table", args.block_table, 2, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("block_table", *args.block_table));
  return WantShape("workspace_starts", args.workspace_starts, 1, kInt32);
}

std::string CheckRequests(const GatherArgs& args) {
  const std::int64_t requests = args.block_table->shape[0];
  MLAFUZZ_RETURN_IF_REFUSED(WantRows("workspace_starts", *args.workspace_starts,
                                     "block_table", requests));
  if (args.seq_lens != nullptr) {
    MLAFUZZ_RETURN_IF_REFUSED(WantShape("seq_lens", args.seq_lens, 1, kInt32));
    MLAFUZZ_RETURN_IF_REFUSED(
        WantRows("seq_lens", *args.seq_lens, "block_table", requests));
  }
  if (args.seq_starts != nullptr) {
    MLAFUZZ_RETURN_IF_REFUSED(
        WantShape("seq_starts", args.seq_starts, 1, kInt32));
    MLAFUZZ_RETURN_IF_REFUSED(
        WantRows("seq_starts", *args.seq_starts, "block_table", requests));
  }
  return "";
}

std::string WhyRefuseGather(const GatherArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckLayout(args.layout));
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("dst", args.dst, 2, kBf16));
  if (args.dst->shape[1] != kWorkspaceColumns) {
    return absl::StrCat("dst must have ", kWorkspaceColumns, " columns, got ",
                        args.dst->shape[1]);
  }
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("dst", *args.dst));
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(args.cache));
  MLAFUZZ_RETURN_IF_REFUSED(CheckTable(args));
  MLAFUZZ_RETURN_IF_REFUSED(CheckRequests(args));
  MLAFUZZ_RETURN_IF_REFUSED(WantAligned("dst", *args.dst, 16));
  if (args.dst->shape[0] > 1 && args.dst->strides[0] < kWorkspaceColumns) {
    return absl::StrCat("dst rows overlap: ", kWorkspaceColumns,
                        " columns, stride ", args.dst->strides[0]);
  }
  return "";
}

std::string WhyRefuseConvert(const ConvertArgs& args,
                             std::int64_t width_multiple) {
  if (args.page_size < 1) {
    return absl::StrCat("page size must be at least 1, got ", args.page_size);
  }
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("token_indices", args.token_indices, 2, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("request_ids", args.request_ids, 1, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("block_table", args.block_table, 2, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("out", args.out, 2, kInt32));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("token_indices", *args.token_indices));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("request_ids", *args.request_ids));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("block_table", *args.block_table));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("out", *args.out));
  const std::int64_t tokens = args.token_indices->shape[0];
  const std::int64_t width = args.token_indices->shape[1];
  MLAFUZZ_RETURN_IF_REFUSED(
      WantRows("request_ids", *args.request_ids, "token_indices", tokens));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantRows("out", *args.out, "token_indices", tokens));
  if (args.out->shape[1] != width) {
    return absl::StrCat("out is ", args.out->shape[1], " wide, token_indices ",
                        width);
  }
  if (args.valid_count != nullptr) {
    MLAFUZZ_RETURN_IF_REFUSED(
        WantShape("valid_count", args.valid_count, 1, kInt32));
    MLAFUZZ_RETURN_IF_REFUSED(
        WantRows("valid_count", *args.valid_count, "token_indices", tokens));
  }
  width_multiple = std::max<std::int64_t>(width_multiple, 1);
  if (width % width_multiple != 0) {
    return absl::StrCat("width must be a multiple of ", width_multiple,
                        ", got ", width);
  }
  return "";
}

kernels::WriterParams ToParams(const WriteArgs& args) {
  kernels::WriterParams params{};
  params.kv_c = As<const std::uint16_t>(args.kv_c);
  if (Is(*args.kv_c, kFp32)) params.kv_c_fp32 = As<const float>(args.kv_c);
  params.kv_c_row_stride = args.kv_c->strides[0];
  if (HasRope(args)) {
    params.k_pe = As<const std::uint16_t>(args.k_pe);
    if (Is(*args.k_pe, kFp32)) params.k_pe_fp32 = As<const float>(args.k_pe);
    params.k_pe_row_stride = args.k_pe->strides[0];
  }
  params.slots = As<const std::int64_t>(args.slot_mapping);
  params.tokens = args.slot_mapping->shape[0];
  params.cache = As<std::uint8_t>(args.cache);
  params.page_stride = args.cache->strides[0];
  params.row_stride = args.cache->strides[1];
  params.page_size = args.cache->shape[1];
  params.pool_slots = args.cache->shape[0] * args.cache->shape[1];
  params.fp16 = Is(*args.kv_c, kFp16);
  return params;
}

kernels::GatherParams ToParams(const GatherArgs& args) {
  kernels::GatherParams params{};
  params.cache = As<const std::uint8_t>(args.cache);
  params.page_stride = args.cache->strides[0];
  params.row_stride = args.cache->strides[1];
  params.page_size = args.cache->shape[1];
  params.dst = As<std::uint16_t>(args.dst);
  params.dst_rows = args.dst->shape[0];
  params.dst_row_stride = args.dst->strides[0];
  params.table = As<const std::int32_t>(args.block_table);
  params.requests = args.block_table->shape[0];
  params.table_columns = args.block_table->shape[1];
  params.table_row_stride = args.block_table->strides[0];
  params.starts = As<const std::int32_t>(args.workspace_starts);
  params.seq_lens = As<const std::int32_t>(args.seq_lens);
  params.seq_starts = As<const std::int32_t>(args.seq_starts);
  params.nope = args.nope;
  params.tensor_scale = args.tensor_scale;
  params.token_bytes = args.cache->shape[2];
  return params;
}

kernels::ConvertParams ToParams(const ConvertArgs& args) {
  kernels::ConvertParams params{};
  params.request_ids = As<const std::int32_t>(args.request_ids);
  params.table = As<const std::int32_t>(args.block_table);
  params.table_columns = args.block_table->shape[1];
  params.table_row_stride = args.block_table->strides[0];
  params.tokens = As<const std::int32_t>(args.token_indices);
  params.rows = args.token_indices->shape[0];
  params.width = args.token_indices->shape[1];
  params.tokens_row_stride = args.token_indices->strides[0];
  params.out = As<std::int32_t>(args.out);
  params.out_row_stride = args.out->strides[0];
  params.valid_count = As<std::int32_t>(args.valid_count);
  params.page_size = args.page_size;
  params.prefill_ids = As<const std::int32_t>(args.prefill_ids);
  params.prefill_starts = As<const std::int32_t>(args.prefill_starts);
  return params;
}

}  // namespace mlafuzz
