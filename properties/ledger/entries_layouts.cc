// Wrong kernels of //kernels/layouts/mutants, layout by layout.
#include <utility>

#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {
namespace {

// An entry whose right kernel is not builtin's.
LedgerEntry Of(Layout layout, const char* right, LedgerEntry entry) {
  entry.layout = layout;
  entry.right = right;
  return entry;
}

LedgerEntry OfIndexer(LedgerEntry entry) {
  return Of(INDEXER_132, "builtin:indexer", std::move(entry));
}
LedgerEntry OfDsv4(LedgerEntry entry) {
  return Of(DSV4_FOOTER_584, "builtin:dsv4", std::move(entry));
}
LedgerEntry OfBytes(LedgerEntry entry) {
  return Of(FP8_DS_MLA, "builtin:byte-gather", std::move(entry));
}
LedgerEntry OfDsv4Bytes(LedgerEntry entry) {
  return Of(DSV4_FOOTER_584, "builtin:dsv4-byte-gather", std::move(entry));
}
LedgerEntry OfOneScale(LedgerEntry entry) {
  return Of(FP8_DS_MLA, "builtin:one-scale-gather", std::move(entry));
}
LedgerEntry OfDsv41(LedgerEntry entry) {
  return Of(DSV4_1_FOOTER_528, "builtin:dsv4_1", std::move(entry));
}

}  // namespace

std::vector<LedgerEntry> LayoutEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kWriter = Kernel::kWriter;
  constexpr Kernel kGatherer = Kernel::kGather;
  return {
      OfIndexer(OneRule(kWriter, "mutant:indexer-floor-on-scale", {kWriterRow},
                        "writer.floor", "FLOOR_ON_SCALE",
                        "vllm-project/vllm, the 656-byte row's rule in the "
                        "indexer's writer")),
      Of(INDEXER_132, "builtin:indexer-ue8m0",
         OneRule(kWriter, "mutant:indexer-ue8m0-no-floor", {kWriterRow},
                 "writer.floor", "FLOOR_NONE", "operator: floor dropped")),
      OfIndexer(OneRule(kWriter, "mutant:indexer-fp16-bit-amax", {kWriterRow},
                        "writer.fp16_amax", "FP16_RAW_BITS",
                        "vllm-project/vllm, indexer writer, recorded")),
      OfIndexer(OneRule(kWriter, "mutant:indexer-minus-one-only",
                        {kSlots, kWrittenSet, kMemory, kWriterRow},
                        "writer.slots", "MINUS_ONE_SKIPPED",
                        "NVIDIA/TensorRT-LLM#18673, in the indexer's writer")),
      OfIndexer(NoRule(kWriter, "mutant:indexer-scales-inline",
                       {kWriterRow, kWrittenSet, kSlots, kMemory},
                       "scales-inline", "1CatAI/1Cat-vLLM#250")),
      OfIndexer(NoRule(kWriter, "mutant:indexer-entries-behind-64",
                       {kWriterRow, kWrittenSet}, "",
                       "flashinfer-ai/flashinfer#3395, in the indexer's "
                       "writer")),
      OfIndexer(NoRule(kWriter, "mutant:indexer-dense-pages",
                       {kWriterRow, kWrittenSet, kSlots}, "dense-pages",
                       "vllm-project/vllm, older indexer writer: block size "
                       "times entry bytes")),
      OfIndexer(OneRule(kGatherer, "mutant:indexer-codes-from-boundary",
                        {kGather}, "gather.code_loads", "LOADS_FROM_BOUNDARY",
                        "ROCm/aiter#2954; vllm-project/vllm, recorded")),
      OfIndexer(OneRule(kGatherer, "mutant:indexer-scales-by-code-stride",
                        {kGather, kMemory, kWrittenSet}, "gather.scale_rows",
                        "SCALE_ROWS_BY_CODE_STRIDE",
                        "vllm-project/vllm, indexer gather, recorded")),
      OfIndexer(NoRule(kGatherer, "mutant:indexer-reads-inline", {kGather},
                       "scales-inline", "1CatAI/1Cat-vLLM#250, in a gather")),
      OfIndexer(NoRule(kGatherer, "mutant:indexer-rest-to-first",
                       {kWrittenSet, kMemory}, "",
                       "vllm-project/vllm, older indexer gather: a row of no "
                       "request took what was left of another")),
      OfIndexer(OneRule(kGatherer, "mutant:indexer-table-row-from-shape",
                        {kGather}, "gather.table_row", "TABLE_ROW_SHAPE",
                        "operator: row stride from the shape")),
      OfDsv4(OneRule(kWriter, "mutant:dsv4-floor-on-scale", {kWriterRow},
                     "writer.floor", "FLOOR_ON_SCALE",
                     "deepseek-ai/FlashMLA, packer of its tests")),
      OfDsv4(OneRule(kWriter, "mutant:dsv4-nan-kept", {kWriterRow},
                     "writer.nan", "NAN_CODE_7F",
                     "vllm-project/vllm, Triton insert of DeepSeek-V4")),
      OfDsv4(OneRule(kWriter, "mutant:dsv4-minus-one-only",
                     {kSlots, kWrittenSet, kMemory, kWriterRow}, "writer.slots",
                     "MINUS_ONE_SKIPPED",
                     "vllm-project/vllm, Triton insert of DeepSeek-V4")),
      OfDsv4(NoRule(kWriter, "mutant:dsv4-exponent-cut-off", {kWriterRow}, "",
                    "operator: rounding of the exponent")),
      OfDsv4(NoRule(kWriter, "mutant:dsv4-publishes-rounded", {kWriterRow},
                    "codes-only", "sgl-project/sglang#28418, #26766")),
      OfDsv4(NoRule(kWriter, "mutant:dsv4-padding-kept", {kWriterRow},
                    "padding-only", "operator: store dropped")),
      OfDsv4(NoRule(kWriter, "mutant:dsv4-entries-of-7",
                    {kWriterRow, kWrittenSet, kSlots}, "",
                    "operator: padding dropped")),
      OfDsv41(OneRule(kWriter, "mutant:dsv4_1-rows-race", {kWriterRow},
                      "writer.duplicates", "DUPLICATES_RACE",
                      "flashinfer-ai/flashinfer, contract of its DSV4_1 "
                      "writer")),
      OfDsv41(OneRule(kWriter, "mutant:dsv4_1-nan-ignored", {kWriterRow},
                      "writer.nan", "NAN_CODE_7F",
                      "flashinfer-ai/flashinfer, contract of its DSV4_1 "
                      "writer")),
      OfDsv4(OneRule(kGatherer, "mutant:dsv4-zero-is-zero", {kGather},
                     "gather.ue8m0_zero", "ZERO_IS_ZERO",
                     "flashinfer-ai/flashinfer, V side of its sparse decode")),
      OfDsv4(OneRule(kGatherer, "mutant:dsv4-last-is-inf", {kGather},
                     "gather.ue8m0_last", "LAST_IS_INF",
                     "flashinfer-ai/flashinfer, V side of its sparse decode")),
      OfDsv4(OneRule(kGatherer, "mutant:dsv4-first-tile-for-all", {kGather},
                     "gather.scale", "SCALE_FIRST_TILE",
                     "operator: tile index dropped")),
      OfDsv4(NoRule(kGatherer, "mutant:dsv4-tiles-of-128", {kGather},
                    "values-only", "operator: tile of another layout")),
      OfDsv4(NoRule(kGatherer, "mutant:dsv4-entries-from-behind", {kGather},
                    "values-only", "operator: order reversed")),
      OfBytes(NoRule(kGatherer, "mutant:byte-gather-dense-rows", {kGather},
                     "dense-rows", "operator: row stride dropped")),
      OfDsv4Bytes(OneRule(kGatherer, "mutant:byte-gather-at-pitch", {kGather},
                          "gather.byte_rows", "BYTES_AT_PITCH",
                          "vllm-project/vllm, cp_gather_cache over pages with "
                          "footers")),
      OfDsv4Bytes(NoRule(kGatherer, "mutant:byte-gather-entries-behind-64",
                         {kGather}, "",
                         "flashinfer-ai/flashinfer#3395, in a gather")),
      OfOneScale(NoRule(kGatherer, "mutant:one-scale-dropped", {kGather},
                        "values-only", "operator: factor dropped")),
      OfOneScale(NoRule(kGatherer, "mutant:one-scale-takes-656", {kRefusal},
                        "accepted-invalid",
                        "vllm-project/vllm, fp8_ds_mla rows in the gather by "
                        "one scale")),
  };
}

}  // namespace mlafuzz
