#ifndef MLAFUZZ_ORACLE_LAYOUTS_UE8M0_H_
#define MLAFUZZ_ORACLE_LAYOUTS_UE8M0_H_

#include <cstdint>

namespace mlafuzz::oracle {

// A scale of eight exponent bits: 2^(byte - 127). Readers differ at its ends.
struct Ue8m0Reading {
  // Byte 0. FlashInfer's matrix units take 2^-127, its V side 0
  // (model/scale_convert.cuh of flashinfer-ai/flashinfer).
  enum class Zero { kSubnormal, kZero };
  // Byte 255: NaN to the matrix units, +Inf on the V side.
  enum class Last { kNan, kInf };
  Zero zero = Zero::kSubnormal;
  Last last = Last::kNan;
};

float Ue8m0Value(std::uint8_t byte, Ue8m0Reading reading);

// The byte of a scale that is a power of two: its exponent plus 127, at least 0
// and at most 255 (vLLM's insert clamps it). Of Inf and NaN: 255.
std::uint8_t Ue8m0FromPow2(float scale);

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_LAYOUTS_UE8M0_H_
