#include "kernels/writers.h"

#include "corpus/contracts.h"
#include "kernels/writer_calls.h"

namespace mlafuzz {
namespace {

Contract KimiContract() {
  Contract contract = BuiltinContract();
  WriterContract& w = *contract.mutable_writer();
  w.clear_pe_dims();
  w.add_pe_dims(64);
  return contract;
}

Contract TritonContract() {
  Contract contract = KimiContract();
  WriterContract& w = *contract.mutable_writer();
  w.set_scale_division(WriterContract::TIMES_RECIPROCAL);
  w.clear_inputs();
  w.add_inputs(BF16);
  return contract;
}

Contract TritonFp32Contract() {
  Contract contract = TritonContract();
  contract.mutable_writer()->clear_inputs();
  contract.mutable_writer()->add_inputs(F32);
  return contract;
}

}  // namespace

std::vector<CompiledTarget> WriterTargets() {
  return {
      {.name = "builtin:kimi-k3",
       .what = "Kimi-K3's writer: 8 lanes of 16 values a tile, builtin's rows",
       .kernels = {.write = CallWriterBy16<kernels::WriterBy16Policy>},
       .contract = KimiContract},
      {.name = "builtin:triton",
       .what = "DeepSeek-V3.2's fused store: amax times 1/448",
       .kernels = {.write = CallFusedWriter<kernels::FusedWriterPolicy>},
       .contract = TritonContract},
      {.name = "builtin:triton-pow2",
       .what = "the same, power-of-two scales",
       .kernels = {.write = CallFusedWriter<kernels::FusedWriterPolicy, true>},
       .pow2_scale = true,
       .contract = TritonContract},
      {.name = "builtin:triton-fp32",
       .what = "DeepSeek-V3.2's fused store of the fp32 values of its norm",
       .kernels = {.write = CallFusedWriter<kernels::FusedWriterPolicy, false,
                                            /*kFp32=*/true>},
       .contract = TritonFp32Contract},
      {.name = "builtin:triton-fp32-pow2",
       .what = "the same, power-of-two scales",
       .kernels = {.write = CallFusedWriter<kernels::FusedWriterPolicy, true,
                                            /*kFp32=*/true>},
       .pow2_scale = true,
       .contract = TritonFp32Contract},
  };
}

}  // namespace mlafuzz
