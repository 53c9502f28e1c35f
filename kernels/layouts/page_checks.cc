#include "kernels/layouts/page_checks.h"

#include "absl/strings/str_cat.h"
#include "kernels/host_checks.h"
#include "kernels/tensor_checks.h"

namespace mlafuzz {
namespace {

std::string CheckLayout(const PageShape& shape, Layout layout) {
  if (layout == shape.layout) return "";
  const int number = static_cast<int>(layout);
  return absl::StrCat("layout must be ", Layout_Name(shape.layout), " (",
                      static_cast<int>(shape.layout), "), got ", number,
                      Layout_IsValid(number)
                          ? absl::StrCat(" (", Layout_Name(layout), ")")
                          : "");
}

// Under one label, fp8_ds_mla, go tokens of 656 bytes too.
const char* OfTheSameLabel(std::int64_t bytes) {
  switch (bytes) {
    case 584:
      return ": DSV4_FOOTER_584";
    case 656:
      return ": FP8_DS_MLA";
    default:
      return "";
  }
}

std::string CheckCache(const PageShape& shape, const DLTensor* cache) {
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("kv_cache", cache, 3, kUint8));
  if (cache->shape[2] != shape.token_bytes()) {
    return absl::StrCat("kv_cache must have ", shape.token_bytes(),
                        " bytes a token (", Layout_Name(shape.layout),
                        "), got ", cache->shape[2],
                        OfTheSameLabel(cache->shape[2]));
  }
  if (cache->shape[1] < 1) {
    return absl::StrCat("page size must be at least 1, got ", cache->shape[1]);
  }
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("kv_cache", *cache));
  return WantAligned("kv_cache", *cache, shape.alignment);
}

std::string CheckNoOverlap(const PageShape& shape, const DLTensor& cache) {
  const std::int64_t rows = cache.shape[1];
  std::int64_t page = rows * shape.token_bytes();
  if (shape.entry_bytes == 0) {
    if (rows > 1 && cache.strides[1] < shape.row_bytes) {
      return absl::StrCat("kv_cache rows overlap: ", shape.row_bytes,
                          " bytes each, stride ", cache.strides[1]);
    }
    page = (rows - 1) * cache.strides[1] + shape.row_bytes;
  }
  if (cache.shape[0] > 1 && cache.strides[0] < page) {
    return absl::StrCat("kv_cache pages overlap: ", page,
                        " bytes each, stride ", cache.strides[0]);
  }
  return "";
}

std::string CheckDst(const GatherArgs& args, int columns,
                     const DLDataType& type, int alignment) {
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("dst", args.dst, 2, type));
  if (args.dst->shape[1] != columns) {
    return absl::StrCat("dst must have ", columns, " columns, got ",
                        args.dst->shape[1]);
  }
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("dst", *args.dst));
  MLAFUZZ_RETURN_IF_REFUSED(WantAligned("dst", *args.dst, alignment));
  if (args.dst->shape[0] > 1 && args.dst->strides[0] < columns) {
    return absl::StrCat("dst rows overlap: ", columns, " columns, stride ",
                        args.dst->strides[0]);
  }
  return "";
}

// A cache of pages of rows, in words or empty.
std::string CheckPages(const DLTensor* cache) {
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("kv_cache", cache, 3, kUint8));
  if (cache->shape[1] < 1) {
    return absl::StrCat("page size must be at least 1, got ", cache->shape[1]);
  }
  return WantDense("kv_cache", *cache);
}

constexpr int kOneScaleColumns = 576;

}  // namespace

std::string WhyRefusePageWrite(const PageShape& shape, const WriteArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckLayout(shape, args.layout));
  if (args.kv_c == nullptr || args.kv_c->ndim != 2) {
    return "kv_c must have 2 dimensions";
  }
  const DLTensor& kv_c = *args.kv_c;
  if (!Is(kv_c, kBf16) && !Is(kv_c, kFp16)) {
    return absl::StrCat("kv_c must be bf16 or f16, got ", Name(kv_c.dtype));
  }
  if (kv_c.shape[1] != shape.codes) {
    return absl::StrCat("kv_c must have ", shape.codes, " columns, got ",
                        kv_c.shape[1]);
  }
  const std::int64_t pe_dim = args.k_pe == nullptr   ? 0
                              : args.k_pe->ndim == 2 ? args.k_pe->shape[1]
                                                     : -1;
  if (pe_dim != shape.rope) {
    return absl::StrCat("pe_dim must be ", shape.rope, ", got ", pe_dim);
  }
  if (args.k_pe != nullptr && !Is(*args.k_pe, kv_c.dtype)) {
    return absl::StrCat("k_pe must be ", Name(kv_c.dtype), " as kv_c, got ",
                        Name(args.k_pe->dtype));
  }
  MLAFUZZ_RETURN_IF_REFUSED(
      WantShape("slot_mapping", args.slot_mapping, 1, kInt64));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("slot_mapping", *args.slot_mapping));
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(shape, args.cache));
  MLAFUZZ_RETURN_IF_REFUSED(CheckNoOverlap(shape, *args.cache));
  const std::int64_t slots = args.slot_mapping->shape[0];
  MLAFUZZ_RETURN_IF_REFUSED(WantSourceRows("kv_c", kv_c, slots));
  MLAFUZZ_RETURN_IF_REFUSED(WantDense("kv_c", kv_c));
  MLAFUZZ_RETURN_IF_REFUSED(WantAligned("kv_c", kv_c, 16));
  if (shape.rope != 0) {
    MLAFUZZ_RETURN_IF_REFUSED(WantSourceRows("k_pe", *args.k_pe, slots));
    MLAFUZZ_RETURN_IF_REFUSED(WantDense("k_pe", *args.k_pe));
    MLAFUZZ_RETURN_IF_REFUSED(WantAligned("k_pe", *args.k_pe, 4));
  }
  return "";
}

std::string WhyRefusePageGather(const PageShape& shape,
                                const GatherArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckLayout(shape, args.layout));
  MLAFUZZ_RETURN_IF_REFUSED(
      CheckDst(args, shape.codes + shape.rope, kBf16, 16));
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(shape, args.cache));
  MLAFUZZ_RETURN_IF_REFUSED(CheckTable(args));
  return CheckRequests(args);
}

std::string WhyRefuseByteGather(Layout layout, int token_bytes,
                                const GatherArgs& args) {
  if (args.layout != layout) {
    return absl::StrCat("layout must be ", Layout_Name(layout), ", got ",
                        static_cast<int>(args.layout));
  }
  MLAFUZZ_RETURN_IF_REFUSED(CheckDst(args, token_bytes, kUint8, 1));
  MLAFUZZ_RETURN_IF_REFUSED(CheckPages(args.cache));
  if (args.cache->shape[2] != token_bytes) {
    return absl::StrCat("kv_cache must have ", token_bytes, " bytes a token (",
                        Layout_Name(layout), "), got ", args.cache->shape[2],
                        OfTheSameLabel(args.cache->shape[2]));
  }
  MLAFUZZ_RETURN_IF_REFUSED(CheckTable(args));
  return CheckRequests(args);
}

std::string WhyRefuseOneScaleGather(const GatherArgs& args, bool checks_rows) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckDst(args, kOneScaleColumns, kBf16, 16));
  MLAFUZZ_RETURN_IF_REFUSED(CheckPages(args.cache));
  const std::int64_t bytes = args.cache->shape[2];
  if (checks_rows && bytes != kOneScaleColumns) {
    return absl::StrCat("kv_cache must have rows of ", kOneScaleColumns,
                        " codes under tensor_scale, got ", bytes, " bytes",
                        OfTheSameLabel(bytes));
  }
  MLAFUZZ_RETURN_IF_REFUSED(WantAligned("kv_cache", *args.cache, 8));
  MLAFUZZ_RETURN_IF_REFUSED(CheckTable(args));
  return CheckRequests(args);
}

std::string WhyRefuseIndexerGather(const PageShape& shape,
                                   const GatherArgs& args) {
  MLAFUZZ_RETURN_IF_REFUSED(CheckLayout(shape, args.layout));
  MLAFUZZ_RETURN_IF_REFUSED(CheckDst(args, shape.codes, kUint8, 4));
  MLAFUZZ_RETURN_IF_REFUSED(WantShape("dst_scales", args.dst_scales, 2, kFp32));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantRows("dst_scales", *args.dst_scales, "dst", args.dst->shape[0]));
  if (args.dst_scales->shape[1] != shape.tiles) {
    return absl::StrCat("dst_scales must have ", shape.tiles, " columns, got ",
                        args.dst_scales->shape[1]);
  }
  MLAFUZZ_RETURN_IF_REFUSED(CheckCache(shape, args.cache));
  MLAFUZZ_RETURN_IF_REFUSED(CheckTable(args));
  MLAFUZZ_RETURN_IF_REFUSED(
      WantRows("workspace_starts", *args.workspace_starts,
               "block_table and one:", args.block_table->shape[0] + 1));
  if (args.seq_lens != nullptr || args.seq_starts != nullptr) {
    return "lengths and first tokens are not taken: starts say both";
  }
  return "";
}

}  // namespace mlafuzz
