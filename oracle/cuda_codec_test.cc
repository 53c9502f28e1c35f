// The oracle's codecs against the host functions of the CUDA headers. The
// header's E4M3 emulation drops a NaN's sign, as the oracle does.
#include <bit>
#include <cstdint>
#include <cstring>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/e4m3.h"
#include "oracle/half.h"

namespace mlafuzz::oracle {
namespace {

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }

std::uint16_t CudaHalf(float x) {
  const __half h = __float2half_rn(x);
  std::uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
std::uint16_t CudaBf16(float x) {
  const __nv_bfloat16 b = __float2bfloat16_rn(x);
  std::uint16_t bits;
  std::memcpy(&bits, &b, 2);
  return bits;
}
std::uint8_t CudaE4m3(float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

// One pattern of every run of 331 fp32 patterns (a prime): 13 million, each
// exponent, NaN and infinity among them.
template <typename F>
void ForManyFloats(F f) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 331) {
    f(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
}

TEST(CudaCodec, AllE4m3Codes) {
  for (int code = 0; code < 256; ++code) {
    const __half_raw raw = __nv_cvt_fp8_to_halfraw(
        static_cast<__nv_fp8_storage_t>(code), __NV_E4M3);
    const float value = HalfValue(raw.x);
    const float ours = E4m3Values(E4m3Reading::kFn)[code];
    if (code % 128 == 127) {
      EXPECT_TRUE(value != value && ours != ours);
    } else {
      EXPECT_EQ(Bits(value), Bits(ours)) << code;
    }
  }
}

TEST(CudaCodec, ManyFloatsToE4m3) {
  ForManyFloats([](float x) {
    ASSERT_EQ(E4m3FromFloat(x, Rounding::kNearestEven), CudaE4m3(x))
        << std::hex << Bits(x);
  });
}

TEST(CudaCodec, AllHalves) {
  for (int i = 0; i < 0x10000; ++i) {
    const std::uint16_t bits = static_cast<std::uint16_t>(i);
    __half h;
    std::memcpy(&h, &bits, 2);
    const float value = __half2float(h);
    const float ours = HalfValue(bits);
    if (ours != ours) {
      ASSERT_TRUE(value != value);
    } else {
      ASSERT_EQ(Bits(value), Bits(ours)) << bits;
    }
  }
}

TEST(CudaCodec, ManyFloatsToHalf) {
  ForManyFloats([](float x) {
    ASSERT_EQ(HalfFromFloat(x), CudaHalf(x)) << std::hex << Bits(x);
  });
}

TEST(CudaCodec, ManyFloatsToBf16) {
  ForManyFloats([](float x) {
    ASSERT_EQ(Bf16FromFloat(x, Rounding::kNearestEven), CudaBf16(x))
        << std::hex << Bits(x);
  });
}

}  // namespace
}  // namespace mlafuzz::oracle
