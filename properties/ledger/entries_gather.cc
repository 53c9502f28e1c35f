// Wrong gathers.
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {

std::vector<LedgerEntry> GatherEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kGatherKernel = Kernel::kGather;
  return {
      {"mutant:gather-stale-tail",
       {kGatherKernel},
       {kGatherTail, "two-poison"},
       "gather.nope_tail",
       "NOPE_TAIL_VERBATIM",
       "gather.nope_tail=",
       "vllm-project/vllm#55277",
       true},
      {"mutant:gather-drops-pages",
       {kGatherKernel},
       {kGather, "batch-single"},
       "gather.page_tasks",
       "ROWS_ONLY",
       "gather.page_tasks=",
       "vllm-project/vllm#51252",
       true},
      {"mutant:table-row-from-shape",
       {kGatherKernel},
       {kGather, kMemory, "two-poison", "batch-single"},
       "gather.table_row",
       "TABLE_ROW_SHAPE",
       "",
       "vllm-project/vllm#55109",
       true},
      {"mutant:missing-syncwarp",
       {kGatherKernel},
       {kGather, kLanes, "schedule"},
       "",
       "",
       "",
       "1CatAI/1Cat-vLLM#162",
       true},
  };
}

}  // namespace mlafuzz
