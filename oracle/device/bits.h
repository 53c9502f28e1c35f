#ifndef MLAFUZZ_ORACLE_DEVICE_BITS_H_
#define MLAFUZZ_ORACLE_DEVICE_BITS_H_

#include <bit>
#include <cstdint>

#include "oracle/device/device_code.h"

// What <bit> counts, for GPUs, too: nvcc takes std::countl_zero() and what is
// built on it in device code without a word, and makes nothing of the
// compiler's own functions in it.
namespace mlafuzz::oracle {

// Of 0: 32.
MLAFUZZ_ORACLE_CODE constexpr int LeadingZeros(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return __clz(static_cast<int>(x));
#else
  return std::countl_zero(x);
#endif
}

// x is not 0.
MLAFUZZ_ORACLE_CODE constexpr int TrailingZeros(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(x)) - 1;
#else
  return std::countr_zero(x);
#endif
}
MLAFUZZ_ORACLE_CODE constexpr int TrailingZeros(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return std::countr_zero(x);
#endif
}

// The least power of two that is not below x; x in [1, 2^31].
MLAFUZZ_ORACLE_CODE constexpr std::uint32_t PowerOfTwoFrom(std::uint32_t x) {
  return x <= 1 ? 1 : std::uint32_t{1} << (32 - LeadingZeros(x - 1));
}

}  // namespace mlafuzz::oracle

#endif  // MLAFUZZ_ORACLE_DEVICE_BITS_H_
