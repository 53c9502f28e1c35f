// Wrong writers.
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {

std::vector<LedgerEntry> WriterEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kWriter = Kernel::kWriter;
  return {
      {"mutant:nope-stale-tail",
       {kWriter},
       {kNopeTail, "zero-rope", "nope-tail-through-gather"},
       "writer.tail",
       "TAIL_UNCHANGED",
       "writer.tail=",
       "vllm-project/vllm#55277, #53969",
       true},
      {"mutant:fp16-bit-amax",
       {kWriter},
       {kWriterRow, "negation", "power-of-two-scaling", "round-trip"},
       "writer.fp16_amax",
       "FP16_RAW_BITS",
       "writer.fp16_amax=",
       "vllm-project/vllm, writer of the 656-byte row read as 16-bit patterns",
       true},
      {"mutant:writer-negative-slot",
       {kWriter},
       {kSlots, kWrittenSet, kMemory, kWriterRow},
       "writer.slots",
       "MINUS_ONE_SKIPPED",
       "writer.slots=",
       "NVIDIA/TensorRT-LLM#18673",
       true},
      {"mutant:payload-fallthrough",
       {kWriter},
       {kWriterRow, "round-trip", "power-of-two-scaling"},
       "",
       "",
       "codes-only",
       "vllm-project/vllm#48611",
       true},
      {"mutant:scale-reciprocal",
       {kWriter},
       {kWriterRow},
       "writer.scale_division",
       "TIMES_RECIPROCAL",
       "writer.scale_division=",
       "vllm-project/vllm, fused writers multiply by the reciprocal",
       true},
  };
}

}  // namespace mlafuzz
