#include "corpus/contracts.h"
#include "kernels/layouts/layouts.h"
#include "kernels/layouts/row_gather_calls.h"

namespace mlafuzz {
namespace {

template <Layout kLayout>
Contract BytesContract() {
  Contract contract = BuiltinContract(kLayout);
  contract.mutable_gather()->set_rows(GatherContract::ROWS_BYTES);
  return contract;
}

Contract OneScaleContract() {
  Contract contract = BuiltinContract();
  contract.mutable_gather()->set_rows(GatherContract::ROWS_ONE_SCALE);
  return contract;
}

}  // namespace

std::vector<CompiledTarget> RowGatherTargets() {
  return {
      {.name = "builtin:byte-gather",
       .what = "gather that copies 656-byte rows as they are",
       .kernels =
           {.gather =
                CallByteGather<kernels::ByteGatherPolicy<FP8_DS_MLA, 656, 0>>},
       .contract = BytesContract<FP8_DS_MLA>},
      {.name = "builtin:dsv4-byte-gather",
       .what = "the same of DeepSeek-V4 pages: a row, then its footer bytes",
       .kernels = {.gather = CallByteGather<
                       kernels::ByteGatherPolicy<DSV4_FOOTER_584, 576, 8>>},
       .contract = BytesContract<DSV4_FOOTER_584>,
       .rest = "builtin:dsv4"},
      {.name = "builtin:one-scale-gather",
       .what = "gather of 576 codes a row under one scale; refuses 656 bytes",
       .kernels = {.gather = CallOneScaleGather<kernels::OneScaleGatherPolicy>},
       .contract = OneScaleContract},
  };
}

}  // namespace mlafuzz
