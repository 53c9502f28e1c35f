#ifndef MLAFUZZ_ORACLE_DECODE_EMULATED_KERNEL_H_
#define MLAFUZZ_ORACLE_DECODE_EMULATED_KERNEL_H_

#include <cstdint>
#include <random>
#include <vector>

#include "corpus/contract.pb.h"
#include "corpus/image.h"

namespace mlafuzz {

// A right kernel in plain fp32, one operation at a time, written from the
// contract alone: it shares nothing with the oracle. All that the contract
// leaves free is drawn from `random`: orders of sums (worst ones among them),
// fused operations, association of the logit's scaling, the errors of exp2 and
// division, block and split sizes that are unknown, where the sink enters, how
// the LSE is formed, whether subnormal results are flushed.
struct EmulatedDecode {
  std::vector<float> out;  // [queries, heads, 512], before the rounding to bf16
  std::vector<std::uint16_t> bits;  // bf16
  std::vector<float> lse;           // [queries, heads]
};

EmulatedDecode EmulateDecode(const Contract& contract, const CaseImage& image,
                             const StepImage& step, std::mt19937_64& random);

}  // namespace mlafuzz

#endif  // MLAFUZZ_ORACLE_DECODE_EMULATED_KERNEL_H_
