// Wrong kernels of kernels/mutants/variants.h.
#include <utility>

#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {
namespace {

LedgerEntry Of(const char* right, LedgerEntry entry) {
  entry.right = right;
  return entry;
}

LedgerEntry OfFused(LedgerEntry entry) {
  return Of("builtin:triton", std::move(entry));
}
LedgerEntry OfFp32(LedgerEntry entry) {
  return Of("builtin:triton-fp32", std::move(entry));
}
LedgerEntry OfCompacting(LedgerEntry entry) {
  return Of("builtin:compacting", std::move(entry));
}
LedgerEntry OfWorkspace(LedgerEntry entry) {
  return Of("builtin:workspace", std::move(entry));
}
LedgerEntry OfKimi(LedgerEntry entry) {
  return Of("builtin:kimi-k3", std::move(entry));
}

}  // namespace

std::vector<LedgerEntry> VariantEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kThis = Kernel::kWriter;
  constexpr Kernel kIndex = Kernel::kConvert;
  return {
      OfFused(OneRule(kThis, "mutant:triton-divides", {kWriterRow},
                      "writer.scale_division", "DIVIDE_BY_448",
                      "vllm-project/vllm, the native writer's rule in the "
                      "fused one")),
      OfFused(OneRule(kThis, "mutant:triton-high-floor", {kWriterRow},
                      "writer.floor_bits", "0x38d1b717",
                      "vllm-project/vllm#49435, its floor on raw scales")),
      OfFused(OneRule(kThis, "mutant:triton-codes-reciprocal", {kWriterRow},
                      "writer.code_division", "CODE_RECIPROCAL",
                      "meta-pytorch/MSLK#224, in the fused writer")),
      OfFused(NoRule(kThis, "mutant:triton-page-size-from-strides",
                     {kWriterRow, kWrittenSet, kSlots, kMemory}, "",
                     "vllm-project/vllm, fused writer, common version: block "
                     "size is block stride over entry stride")),
      OfFused(OneRule(kThis, "mutant:triton-minus-one-only",
                      {kSlots, kWrittenSet, kMemory, kWriterRow},
                      "writer.slots", "MINUS_ONE_SKIPPED",
                      "vllm-project/vllm, DeepSeek-V4's Triton insert")),
      OfFused(NoRule(kThis, "mutant:triton-amax-half-tile", {kWriterRow}, "",
                     "operator: a step of the reduction dropped")),
      OfFp32(OneRule(kThis, "mutant:triton-fp32-through-bf16", {kWriterRow},
                     "writer.fp32_values", "FP32_THROUGH_BF16",
                     "vllm-project/vllm, the unfused norm and writer in the "
                     "fused one's place")),
      OfFp32(NoRule(kThis, "mutant:triton-fp32-rope-cut-off", {kWriterRow},
                    "rope-only", "operator: rounding dropped")),
      OfKimi(NoRule(kThis, "mutant:kimi-payload-fallthrough",
                    {kWriterRow, "round-trip", "power-of-two-scaling"},
                    "codes-only",
                    "vllm-project/vllm, test of Kimi-K3's writer against the "
                    "native one")),
      OfKimi(NoRule(kThis, "mutant:kimi-amax-two-tiles", {kWriterRow}, "",
                    "operator: a step of the reduction added")),
      OfKimi(NoRule(kThis, "mutant:kimi-amax-first-half", {kWriterRow}, "",
                    "operator: half of a lane's values dropped")),
      OfKimi(NoRule(kThis, "mutant:kimi-halves-apart", {kWriterRow}, "",
                    "operator: lane's address")),
      OfCompacting(OneRule(kIndex, "mutant:compacting-columns-by-stride",
                           {kConvert, kValidCount}, "convert.table_columns",
                           "COLUMNS_BY_STRIDE",
                           "vllm-project/vllm#55637, the column's axis")),
      OfCompacting(OneRule(kIndex, "mutant:compacting-counts-non-negative",
                           {kValidCount}, "convert.valid_count",
                           "COUNT_NON_NEGATIVE",
                           "vllm-project/vllm, DeepSeek-V4's conversion before "
                           "its bounds")),
      OfCompacting(OneRule(kIndex, "mutant:compacting-rest-untouched",
                           {kConvert}, "convert.invalid", "INVALID_UNTOUCHED",
                           "operator: store dropped")),
      OfCompacting(NoRule(kIndex, "mutant:compacting-ends-at-invalid",
                          {kConvert}, "",
                          "vllm-project/vllm#55636, invalid before valid")),
      OfCompacting(NoRule(kIndex, "mutant:compacting-last-lane-lost",
                          {kConvert}, "", "operator: lane dropped")),
      OfCompacting(OneRule(kIndex, "mutant:compacting-table-row-from-shape",
                           {kConvert, kValidCount}, "convert.table_row",
                           "TABLE_ROW_SHAPE",
                           "vllm-project/vllm#55109, in a conversion")),
      OfWorkspace(OneRule(kIndex, "mutant:workspace-start-dropped", {kConvert},
                          "convert.workspace", "WORKSPACE_START_DROPPED",
                          "operator: addend dropped")),
      OfWorkspace(OneRule(kIndex, "mutant:workspace-start-of-row",
                          {kConvert, kMemory}, "convert.workspace",
                          "WORKSPACE_START_OF_ROW",
                          "operator: another subscript")),
      OfWorkspace(OneRule(kIndex, "mutant:workspace-by-table",
                          {kConvert, kValidCount}, "convert.workspace",
                          "WORKSPACE_BY_TABLE",
                          "vllm-project/vllm, its conversion before it knew "
                          "of a workspace")),
      OfWorkspace(NoRule(kIndex, "mutant:workspace-first-is-decode",
                         {kConvert, kValidCount}, "first-prefill-by-table",
                         "operator: comparison moved by one")),
      OfWorkspace(OneRule(kIndex, "mutant:workspace-unbounded",
                          {kConvert, kValidCount}, "convert.workspace",
                          "WORKSPACE_UNBOUNDED", "operator: bound dropped")),
      OfWorkspace(OneRule(kIndex, "mutant:workspace-slot-wraps",
                          {kConvert, kValidCount}, "convert.pages",
                          "PAGES_WRAPPED",
                          "vllm-project/vllm, sparse_utils.py @02a26fa0: all "
                          "arithmetic is int32")),
      OfWorkspace(NoRule(kIndex, "mutant:workspace-slot-wraps-twice",
                         {kConvert, kValidCount}, "slot-wraps-then-checked",
                         "operator: check after the product")),
  };
}

}  // namespace mlafuzz
