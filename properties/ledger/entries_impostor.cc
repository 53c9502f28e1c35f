// No kernels at all, which a harness must not take for right ones.
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {

std::vector<LedgerEntry> ImpostorEntries() {
  using namespace property;  // NOLINT: names of properties alone
  constexpr Kernel kWriter = Kernel::kWriter, kGatherKernel = Kernel::kGather,
                   kConvertKernel = Kernel::kConvert,
                   kDecodeKernel = Kernel::kDecode;
  return {
      {"mutant:does-nothing",
       {kWriter, kGatherKernel, kConvertKernel, kDecodeKernel},
       {kWriterRow, kSlots, kGather, kConvert, kValidCount, kDecodeOut,
        kDecodeLse, kRefusal},
       "",
       "",
       "",
       "impostor",
       true},
      {"mutant:refuses-all",
       {kWriter, kGatherKernel, kConvertKernel, kDecodeKernel},
       {kRefusal},
       "",
       "",
       "",
       "impostor",
       true},
      {"mutant:returns-inputs",
       {kWriter, kGatherKernel, kConvertKernel, kDecodeKernel},
       {kWriterRow, kSlots, kGather, kConvert, kValidCount, kDecodeOut,
        kDecodeLse, kWrittenSet},
       "",
       "",
       "",
       "impostor",
       true},
  };
}

}  // namespace mlafuzz
