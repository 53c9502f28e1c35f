#include "corpus/parties.h"

#include <cstdlib>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"

namespace mlafuzz {
namespace {

// vLLM's host checks of the 656-byte writer, and what it does with misuse.
constexpr char kVllmWriter[] =
    "fp16_amax: FP16_RAW_BITS zero_tokens: ZERO_TOKENS_LAUNCH_ERROR "
    "host_checks: [WRITER_CHECK_LATENT_DIM, WRITER_CHECK_PE_DIM, "
    "WRITER_CHECK_ROW_BYTES, WRITER_CHECK_INPUT_DTYPE] ";
// The writer generation of vLLM #49435: 2^ceil(log2(max(amax / 448, 1e-4))).
constexpr char kPow2[] =
    "scale: POW2_CEIL floor: FLOOR_ON_SCALE floor_bits: 0x38d1b717 ";
constexpr char kNopeToo[] = "pe_dims: [64, 0] ";
constexpr char kRopeOnly[] = "pe_dims: 64 ";
constexpr char kAmaxFloor[] = "floor: FLOOR_ON_AMAX floor_bits: 0x38d1b717 ";
// amax * (1/448) in fp32.
constexpr char kReciprocal[] = "scale_division: TIMES_RECIPROCAL ";
constexpr char kVllmGather[] =
    "host_checks: [GATHER_CHECK_DST_COLUMNS, GATHER_CHECK_DST_DTYPE] ";

// How many blocks of 64 keys go to one split is a scheduler's choice in
// FlashInfer and FlashMLA alike. Declared as 1, which is what any choice comes
// to for rows of up to 64 keys: the matrix reads no longer ones. Keys of a
// second cache begin a block of their own, so beside one it is not known.
constexpr char kUpTo64Keys[] = "blocks_per_split: 1 ";
// FlashInfer's sm_120 kernels: Q and P in E4M3, partials in bf16, tensor cores
// whose accumulator bits nobody has measured.
constexpr char kFlashInferArithmetic[] =
    "dequantised: DEQUANTISED_CODES query: QUERY_E4M3 block: 64 "
    "partials: PARTIALS_BF16 accumulator: MMA ";
// One pass; arbitrary_fp32 takes two.
constexpr char kOnePass[] = "weights: WEIGHTS_E4M3 ";
constexpr char kTwoPasses[] = "weights: WEIGHTS_E4M3_TWO_PASS ";
// FlashMLA's on sm_90, accumulator bits as measured from recordings.
constexpr char kFlashMlaArithmetic[] =
    "dequantised: DEQUANTISED_BF16 query: QUERY_BF16 weights: WEIGHTS_BF16 "
    "block: 64 partials: PARTIALS_FP32 accumulator: MMA accumulator_bits: 26 "
    "exp2_relative_error: 2.384185791015625e-07 "
    "denormals: DENORMALS_FLUSHED ";
constexpr char kFlashMlaDecode[] =
    "decode { mask: MINUS_ONE_MASKED length: LENGTH_IGNORED "
    "empty_row: ZERO_AND_PLUS_INF lse_base: BASE_E sink: SINK_NOT_IN_LSE "
    "pe_dims: 64 } ";

constexpr char kVllmKernels[] =
    "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu @00eb0c87";
constexpr char kVllmPow2[] =
    "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu, #49435";
constexpr char kVllmNope[] =
    "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu, #55277";
constexpr char kTriton[] =
    "vllm-project/vllm vllm/models/deepseek_v32/nvidia/kernels.py @020505c2";
constexpr char kFlashInferPackers[] =
    "flashinfer-ai/flashinfer tests/attention/test_sparse_mla_sm120.py "
    "@fb28d724";
constexpr char kFlashInferDecode[] =
    "flashinfer-ai/flashinfer "
    "include/flashinfer/attention/sparse_mla_sm120/decode_dsv3_2_kernel.cuh "
    "@fb28d724";
constexpr char kFlashInferPolicy[] =
    "flashinfer-ai/flashinfer flashinfer/mla/_sparse_mla_sm120/_policy.py "
    "@cb9e34ae";
constexpr char kFlashMlaSm90[] =
    "deepseek-ai/FlashMLA csrc/sm90/decode/sparse_fp8 @9241ae3e";
constexpr char kFlashInferTestUtils[] =
    "flashinfer-ai/flashinfer tests/attention/sparse_mla_test_utils.py "
    "@4f9ea95e";
constexpr char kFlashMlaQuant[] =
    "deepseek-ai/FlashMLA tests/quant.py @9241ae3e";
constexpr char kDsv4Ops[] =
    "vllm-project/vllm vllm/models/deepseek_v4/common/ops/cache_utils.py "
    "@03dc5649";
constexpr char kIndexer[] =
    "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu "
    "(indexer_k_quant_and_cache) @00eb0c87";

std::string Writer(const std::string& rules) {
  return absl::StrCat("writer { ", rules, "}");
}

std::string Reader(const std::string& qk, const std::string& v,
                   const std::string& decode, const std::string& arithmetic) {
  return absl::StrCat("qk { scale_rule: ", qk, " } v { scale_rule: ", v, " } ",
                      decode, " arithmetic { ", arithmetic, "}");
}

// FlashInfer's DSv4: lengths are mandatory (those of sliding windows); the
// matrix units take the scale bytes of the logits, a shift of the exponent
// those of the values (model/scale_convert.cuh).
std::string Dsv4Reader(const std::string& splits) {
  return absl::StrCat(
      "v { ue8m0_zero: ZERO_IS_ZERO ue8m0_last: LAST_IS_INF } decode { "
      "lengths_demand: LENGTHS_DEMANDED } arithmetic { ",
      kFlashInferArithmetic, kOnePass, splits, "}");
}

std::vector<Party> MakeParties() {
  constexpr PartyRole kWriter = PartyRole::kWriter;
  constexpr PartyRole kGather = PartyRole::kGather;
  constexpr PartyRole kReader = PartyRole::kReader;
  const std::string native = kVllmWriter;
  return {
      // ---- writers of the 656-byte row
      {"native-raw", kWriter, "row656", "",
       "concat_and_cache_mla: the scale as computed", kVllmKernels,
       Rope::kWritten, Writer(native + kRopeOnly)},
      {"native-pow2", kWriter, "row656", "",
       "concat_and_cache_mla: the scale rounded up to a power of two",
       kVllmPow2, Rope::kWritten, Writer(native + kRopeOnly + kPow2)},
      {"native-raw-nope", kWriter, "row656", "",
       "native-raw for rows without rope, their tail zeroed", kVllmNope,
       Rope::kNone, Writer(native + kNopeToo)},
      {"native-pow2-nope", kWriter, "row656", "",
       "native-pow2 for rows without rope, their tail zeroed", kVllmNope,
       Rope::kNone, Writer(native + kNopeToo + kPow2)},
      {"native-nope-stale-tail", kWriter, "row656", "",
       "a fault: rows without rope whose tail keeps what was there", kVllmNope,
       Rope::kNone, Writer(native + kNopeToo + "tail: TAIL_UNCHANGED ")},
      {"nope-shim", kWriter, "row656", "",
       "native-raw behind a caller that appends 64 zero rope columns",
       "vllm-project/vllm vllm/v1/attention/backends/mla/"
       "flashinfer_mla_sparse_sm120.py @034334a1 (#53969)",
       Rope::kZeroPadded, Writer(native + kRopeOnly)},
      {"triton-raw", kWriter, "row656", "",
       "fused norm, rope and cache: amax * (1/448); takes fp32 values, of "
       "which "
       "cases give it bf16 ones",
       kTriton, Rope::kWritten,
       Writer(absl::StrCat(kReciprocal, kRopeOnly, "inputs: BF16 "))},
      {"triton-pow2", kWriter, "row656", "",
       "the same with the scale rounded up to a power of two",
       "vllm-project/vllm vllm/models/deepseek_v32/nvidia/kernels.py, #49435",
       Rope::kWritten,
       Writer(absl::StrCat(kReciprocal, kRopeOnly, kPow2, "inputs: BF16 "))},
      {"kimi-k3", kWriter, "row656", "",
       "dense MLA fused ops, byte for byte native-raw",
       "vllm-project/vllm "
       "tests/kernels/attention/test_kimi_k3_mla_key_concat_kv_cache.py "
       "@e4f5666b",
       Rope::kWritten, Writer(native + kRopeOnly)},
      {"flashinfer-packer", kWriter, "row656", "",
       "FlashInfer's test packer: amax floored at 1e-4", kFlashInferPackers,
       Rope::kWritten, Writer(absl::StrCat(kRopeOnly, kAmaxFloor))},
      {"flashmla-packer", kWriter, "row656", "",
       "FlashMLA's test packer: the scale, floored at 1e-4, rounded up to a "
       "power of two",
       kFlashMlaQuant, Rope::kWritten, Writer(absl::StrCat(kRopeOnly, kPow2))},
      {"flashinfer-packer-nope", kWriter, "row656", "",
       "FlashInfer's test packer for GLM-5.3 in rows of 656 bytes, their tail "
       "zeroed",
       kFlashInferTestUtils, Rope::kNone,
       Writer(absl::StrCat("pe_dims: 0 ", kAmaxFloor))},
      // ---- writers of other formats
      {"flashinfer-packer-528", kWriter, "row528", "",
       "FlashInfer's test packer for GLM-5.3 rows without a tail",
       kFlashInferTestUtils, Rope::kNone, Writer(kAmaxFloor)},
      {"dsv4-cuda", kWriter, "footer584", "",
       "DeepSeek-V4 insert: UE8M0 scales of 64 values in the page's footer",
       "vllm-project/vllm csrc/libtorch_stable/"
       "fused_deepseek_v4_qnorm_rope_kv_insert_kernel.cu @00ce99f0",
       Rope::kWritten,
       Writer(absl::StrCat(kAmaxFloor, "nan: NAN_TO_MINUS_448 "))},
      {"dsv4-triton", kWriter, "footer584", "",
       "the same in Triton; skips slot -1 alone", kDsv4Ops, Rope::kWritten,
       Writer(absl::StrCat(kAmaxFloor,
                           "code_division: CODE_DIVIDE "
                           "slots: MINUS_ONE_SKIPPED "))},
      {"flashmla-packer-584", kWriter, "footer584", "",
       "FlashMLA's test packer for its MODEL1: the scale floored at 1e-4",
       kFlashMlaQuant, Rope::kWritten,
       Writer("floor: FLOOR_ON_SCALE floor_bits: 0x38d1b717 "
              "nan: NAN_POISONS_SCALE code_division: CODE_DIVIDE ")},
      {"flashinfer-packer-584", kWriter, "footer584", "",
       "FlashInfer's test packer for DSv4: amax and scale floored at 1e-4",
       kFlashInferTestUtils, Rope::kWritten,
       Writer("floor: FLOOR_ON_SCALE floor_bits: 0x38d1b717 "
              "nan: NAN_POISONS_SCALE code_division: CODE_DIVIDE ")},
      {"dsv4_1", kWriter, "footer528", "",
       "DeepSeek-V4.1: rope in E4M3 too, UE8M0 scales of 32 values",
       kFlashInferTestUtils, Rope::kWritten,
       Writer("slots: NEGATIVE_SKIPPED duplicates: FIRST_WINS ")},
      {"indexer-fp32", kWriter, "indexer132", "",
       "indexer keys, fp32 scales behind the page's codes", kIndexer,
       Rope::kNone,
       Writer(absl::StrCat(kAmaxFloor, "fp16_amax: FP16_RAW_BITS "))},
      {"indexer-ue8m0", kWriter, "indexer132", "",
       "indexer keys, scales rounded up to powers of two", kIndexer,
       Rope::kNone,
       Writer(absl::StrCat("scale: POW2_CEIL ", kAmaxFloor,
                           "fp16_amax: FP16_RAW_BITS "))},
      // ---- gathers
      {"upconvert-old", kGather, "row656", "workspace576",
       "cp_gather_and_upconvert_fp8_kv_cache with lengths of its own",
       "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu @37cb21c1",
       Rope::kWritten,
       absl::StrCat("gather { lengths: SEQ_LENS nope_tail: NOPE_TAIL_VERBATIM ",
                    kVllmGather, "}")},
      {"upconvert-new", kGather, "row656", "workspace576",
       "the same; lengths follow from the starts", kVllmKernels, Rope::kWritten,
       absl::StrCat(
           "gather { lengths: FROM_STARTS nope_tail: NOPE_TAIL_VERBATIM ",
           kVllmGather, "}")},
      {"upconvert-nope", kGather, "row656", "workspace576",
       "the same, told of rows without rope: zeros in their place", kVllmNope,
       Rope::kWritten,
       absl::StrCat("gather { lengths: FROM_STARTS nope_tail: NOPE_TAIL_ZERO ",
                    kVllmGather, "}")},
      {"nope-row-gather", kGather, "row528", "workspace512",
       "this project's gather of rows without a tail; nobody else's is known",
       "mlafuzz kernels/layouts/page_gather.cuh @builtin:nope-row",
       Rope::kWritten, "gather {}"},
      {"dsv4-gather", kGather, "footer584", "workspace512",
       "dequantize_and_gather_k_cache: takes scale byte 255 for Inf, the "
       "table's rows to be dense",
       kDsv4Ops, Rope::kWritten,
       "gather { lengths: SEQ_LENS page_tasks: EVERY_PAGE table_row: "
       "TABLE_ROW_SHAPE ue8m0_last: LAST_IS_INF }"},
      {"flashmla-unpacker-584", kGather, "footer584", "workspace512",
       "FlashMLA's test unpacker for its MODEL1: scale byte 255 is NaN",
       kFlashMlaQuant, Rope::kWritten, "gather { page_tasks: EVERY_PAGE }"},
      {"flashinfer-unpacker-584", kGather, "footer584", "workspace512",
       "FlashInfer's test unpacker for DSv4: scale byte 255 is Inf",
       kFlashInferTestUtils, Rope::kWritten,
       "gather { page_tasks: EVERY_PAGE ue8m0_last: LAST_IS_INF }"},
      {"dsv4_1-unpacker", kGather, "footer528", "workspace512",
       "FlashInfer's test unpacker for DSv4.1: scale byte 255 is Inf",
       kFlashInferTestUtils, Rope::kWritten,
       "gather { page_tasks: EVERY_PAGE ue8m0_last: LAST_IS_INF }"},
      {"indexer-gather", kGather, "indexer132", "indexer_dense",
       "cp_gather_indexer_k_quant_cache: codes and scales side by side; as "
       "recorded, codes from the 16-byte boundary below, scales by the codes' "
       "stride",
       "vllm-project/vllm csrc/libtorch_stable/cache_kernels.cu "
       "(cp_gather_indexer_k_quant_cache) @00eb0c87",
       Rope::kWritten,
       "gather { code_loads: LOADS_FROM_BOUNDARY scale_rows: "
       "SCALE_ROWS_BY_CODE_STRIDE }"},
      // ---- readers of the 656-byte row
      {"dsv3_2", kReader, "row656", "",
       "FlashInfer DSV3_2 (pow2_fp32): the scale's exponent alone for the "
       "logits, the scale itself for the values",
       kFlashInferDecode, Rope::kWritten,
       Reader("SCALE_POW2_FLOOR", "SCALE_RAW",
              "decode { masked_lanes: MASKED_READ_SLOT0 empty_row: "
              "UNIT_WEIGHTS pe_dims: 64 }",
              absl::StrCat(kFlashInferArithmetic, kOnePass, kUpTo64Keys))},
      {"glm_nsa", kReader, "row656", "",
       "FlashInfer GLM_NSA (arbitrary_fp32): the scale as stored",
       kFlashInferDecode, Rope::kWritten,
       Reader("SCALE_RAW", "SCALE_RAW",
              "decode { masked_lanes: MASKED_READ_SLOT0 empty_row: "
              "UNIT_WEIGHTS pe_dims: 64 }",
              absl::StrCat(kFlashInferArithmetic, kTwoPasses, kUpTo64Keys))},
      {"glm53_nope", kReader, "row656", "",
       "FlashInfer GLM53_NOPE on 656-byte rows, through the row stride; takes "
       "queries without rope alone",
       kFlashInferPolicy, Rope::kWritten,
       Reader("SCALE_RAW", "SCALE_RAW", "decode { pe_dims: 0 }",
              absl::StrCat(kFlashInferArithmetic, kTwoPasses, kUpTo64Keys))},
      {"flashmla-sm90", kReader, "row656", "",
       "FlashMLA V32 on sm_90: the scale rounded to bf16; LSE base e, +Inf of "
       "an empty row",
       kFlashMlaSm90, Rope::kWritten,
       Reader("SCALE_BF16", "SCALE_BF16", kFlashMlaDecode,
              absl::StrCat(kFlashMlaArithmetic, kUpTo64Keys))},
      {"flashmla-sm100", kReader, "row656", "",
       "FlashMLA V32 on sm_100: the scale cut down to its exponent",
       "deepseek-ai/FlashMLA csrc/sm100 @9241ae3e, #184", Rope::kWritten,
       Reader("SCALE_POW2_FLOOR", "SCALE_POW2_FLOOR", kFlashMlaDecode,
              "query: QUERY_BF16 weights: WEIGHTS_BF16 block: 64 "
              "blocks_per_split: 1 "
              "accumulator: MMA ")},
      // ---- readers of other formats
      {"glm53_nope-528", kReader, "row528", "",
       "FlashInfer GLM53_NOPE on its own rows of 528 bytes", kFlashInferPolicy,
       Rope::kWritten,
       Reader("SCALE_RAW", "SCALE_RAW", "decode { pe_dims: 0 }",
              absl::StrCat(kFlashInferArithmetic, kTwoPasses, kUpTo64Keys))},
      {"dsv4-main", kReader, "footer584", "",
       "FLASHINFER_MLA_SPARSE_DSV4, one cache",
       "flashinfer-ai/flashinfer "
       "include/flashinfer/attention/sparse_mla_sm120/decode_dsv4_kernel.cuh "
       "@fb28d724",
       Rope::kWritten, Dsv4Reader(kUpTo64Keys)},
      {"dsv4-main-extra", kReader, "footer584", "",
       "FLASHINFER_MLA_SPARSE_DSV4 with the second, compressed cache",
       "vllm-project/vllm vllm/models/deepseek_v4/nvidia/flashinfer_sparse.py "
       "@055e47c2",
       Rope::kWritten, Dsv4Reader(""), true},
      {"flashmla-sm90-584", kReader, "footer584", "",
       "FlashMLA MODEL1 on sm_90, with or without a second cache; LSE base e, "
       "+Inf of an empty row",
       kFlashMlaSm90, Rope::kWritten,
       Reader("SCALE_RAW", "SCALE_RAW",
              "decode { mask: MINUS_ONE_MASKED empty_row: ZERO_AND_PLUS_INF "
              "lse_base: BASE_E sink: SINK_NOT_IN_LSE pe_dims: 0 }",
              kFlashMlaArithmetic),
       true},
  };
}

}  // namespace

const char* PartyRoleName(PartyRole role) {
  switch (role) {
    case PartyRole::kWriter:
      return "writer";
    case PartyRole::kGather:
      return "gather";
    case PartyRole::kReader:
      return "reader";
  }
  return "";
}

const std::vector<CacheFormat>& AllCacheFormats() {
  // Static, as the table points to them.
  static constexpr char kDense[] =
      "what a gather leaves is read by dense attention, which is no party";
  static constexpr char kNoIndexer[] =
      "no oracle for a reader of the indexer's cache";
  static const auto* formats = new std::vector<CacheFormat>{
      {"row656", "fp8_ds_mla",
       "656-byte row: 512 codes, 4 fp32 scales, 64 rope values", "FP8_DS_MLA",
       nullptr, nullptr, "workspace576"},
      {"row528", "fp8_ds_mla", "528-byte row: 512 codes, 4 fp32 scales",
       "NOPE_ROW_528", nullptr, nullptr, "workspace512"},
      {"footer584", "fp8_ds_mla",
       "584-byte DSv4 row: 448 codes and 64 rope values, 8 bytes of UE8M0 "
       "scales in the page's footer",
       "DSV4_FOOTER_584", nullptr, nullptr, "workspace512"},
      {"footer528", "ue8m0_g32",
       "528-byte DSv4.1 row: 512 codes, 16 UE8M0 scales in the page's footer",
       "DSV4_1_FOOTER_528", nullptr, nullptr, "workspace512"},
      {"indexer132", "indexer K cache",
       "132-byte indexer row: 128 codes, an fp32 scale behind the page's codes",
       "INDEXER_132", nullptr, kNoIndexer, "indexer_dense"},
      {"indexer264", "indexer K cache",
       "264-byte indexer row: 256 codes, two fp32 scales behind the page's "
       "codes",
       "INDEXER_264", nullptr, kNoIndexer, "indexer_dense"},
      {"workspace576", "bf16 workspace",
       "1152-byte row: 576 bf16 values, no scales", nullptr, kDense, kDense,
       ""},
      {"workspace512", "bf16 workspace",
       "1024-byte row: 512 bf16 values, no scales", nullptr, kDense, kDense,
       ""},
      {"indexer_dense", "indexer workspace",
       "dense indexer keys: codes, and fp32 scales beside them", nullptr,
       kNoIndexer, kNoIndexer, ""},
  };
  return *formats;
}

const std::vector<Party>& AllParties() {
  static const auto* parties = new std::vector<Party>(MakeParties());
  return *parties;
}

const CacheFormat* FindCacheFormat(absl::string_view name) {
  for (const CacheFormat& format : AllCacheFormats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

const Party* FindParty(absl::string_view name) {
  for (const Party& party : AllParties()) {
    if (name == party.name) return &party;
  }
  return nullptr;
}

std::optional<Layout> ComputableLayout(const CacheFormat& format) {
  Layout layout;
  if (format.layout == nullptr || !Layout_Parse(format.layout, &layout)) {
    return std::nullopt;
  }
  return layout;
}

const CacheFormat* FormatOfLayout(Layout layout) {
  for (const CacheFormat& format : AllCacheFormats()) {
    if (ComputableLayout(format) == layout) return &format;
  }
  return nullptr;
}

const char* WhyNotComputed(const CacheFormat& format, PartyRole role) {
  if (!ComputableLayout(format).has_value()) {
    return format.why_not == nullptr ? "no oracle" : format.why_not;
  }
  return role == PartyRole::kReader ? format.why_no_decode : nullptr;
}

Contract PartyContract(const Party& party) {
  const std::optional<Layout> layout =
      ComputableLayout(*FindCacheFormat(party.format));
  // First, for it says what is filled in.
  const absl::StatusOr<Contract> contract = ParseContractText(absl::StrCat(
      layout.has_value() ? absl::StrCat("layout: ", Layout_Name(*layout), " ")
                         : "",
      party.contract));
  if (!contract.ok()) std::abort();  // parties_test parses all
  return *contract;
}

}  // namespace mlafuzz
