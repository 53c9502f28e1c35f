// Wrong writers: the codes.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::FloatToE4m3;
using kernels::WriterPolicy;

template <class Input>
__device__ inline float Quotient(unsigned bits, float scale) {
  return __fdiv_rn(Input::ToFloat(bits), scale);
}

// A quotient of magnitude below 2^16 to fp16 and back, nearest even. Codes
// saturate far below what overflows there.
__device__ inline float ThroughFp16(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x47800000u) return value;
  const float m = __uint_as_float(magnitude);
  // Subnormals of fp16 are multiples of 2^-24: the last place of 0.5.
  const float rounded =
      magnitude < 0x38800000u
          ? (m + 0.5f) - 0.5f
          : __uint_as_float((magnitude + 0xfffu + (magnitude >> 13 & 1u)) &
                            ~0x1fffu);
  return __uint_as_float(__float_as_uint(rounded) | (bits & 0x80000000u));
}

// The lowering of the conversion passes through fp16: two roundings.
struct Fp16First : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return FloatToE4m3(ThroughFp16(Quotient<Input>(bits, scale)));
  }
};

// The magnitude of a code that is no NaN, times 512.
__device__ inline unsigned In512ths(unsigned code) {
  const unsigned exponent = code >> 3 & 15u, fraction = code & 7u;
  return exponent == 0 ? fraction : (fraction | 8u) << (exponent - 1);
}

struct TowardZero : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const float quotient = Quotient<Input>(bits, scale);
    const unsigned code = FloatToE4m3(quotient);
    const unsigned magnitude = code & 0x7fu;
    if (magnitude == 0x7fu || magnitude == 0) return code;
    const float rounded = static_cast<float>(In512ths(magnitude)) * 0x1p-9f;
    return rounded > fabsf(quotient) ? code - 1 : code;
  }
};

// Ties away from zero.
struct HalfAway : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const float quotient = Quotient<Input>(bits, scale);
    const unsigned code = FloatToE4m3(quotient);
    const unsigned magnitude = code & 0x7fu;
    if (magnitude >= 0x7eu) return code;
    // Exact: both have few bits.
    const float middle =
        static_cast<float>(In512ths(magnitude) + In512ths(magnitude + 1)) *
        0x1p-10f;
    return fabsf(quotient) == middle ? code + 1 : code;
  }
};

struct Reciprocal : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return FloatToE4m3(__fmul_rn(Input::ToFloat(bits), __fdiv_rn(1.0f, scale)));
  }
};

// No code is larger than `kLargest`.
template <unsigned kLargest>
struct Clamps : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = WriterPolicy::Code<Input>(bits, scale);
    const unsigned magnitude = code & 0x7fu;
    return magnitude != 0x7fu && magnitude > kLargest
               ? (code & 0x80u) | kLargest
               : code;
  }
};

// The same bits mean half as much in the FNUZ format, whose largest number is
// 240, and whose NaN is the pattern of -0.
struct Fnuz : WriterPolicy {
  static __device__ float DivideBy448(float amax) {
    return __fdiv_rn(amax, 240.0f);
  }
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = FloatToE4m3(2.0f * Quotient<Input>(bits, scale));
    if ((code & 0x7fu) == 0x7fu) return 0x80u;
    return code == 0x80u ? 0u : code;
  }
};

struct PositiveZero : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = WriterPolicy::Code<Input>(bits, scale);
    return code == 0x80u ? 0u : code;
  }
};

struct FlushesSubnormals : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = WriterPolicy::Code<Input>(bits, scale);
    return (code & 0x78u) == 0 ? code & 0x80u : code;
  }
};

// The sign of a NaN is kept.
struct SignedNan : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = WriterPolicy::Code<Input>(bits, scale);
    return code == 0x7fu ? code | (bits >> 8 & 0x80u) : code;
  }
};

struct NanSaturates : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned code = WriterPolicy::Code<Input>(bits, scale);
    return code == 0x7fu ? 0xfeu : code;
  }
};

// An Inf takes no part in the maximum and becomes the largest code.
struct InfSaturates : WriterPolicy {
  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    const float magnitude = WriterPolicy::Magnitude<Input>(bits);
    return __float_as_uint(magnitude) == 0x7f800000u ? 0.0f : magnitude;
  }
};

// The high byte of an fp16: the other FP8 format's codes.
struct E5m2 : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const unsigned wide = __float_as_uint(Quotient<Input>(bits, scale));
    const unsigned magnitude = wide & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fu;
    const unsigned sign = wide >> 24 & 0x80u;
    if (magnitude < 0x38800000u) {
      // Multiples of 2^-16: the last place of 2^7.
      return sign | (__float_as_uint(__uint_as_float(magnitude) + 0x1p7f) -
                     __float_as_uint(0x1p7f));
    }
    return sign | ((magnitude + 0xfffffu + (magnitude >> 21 & 1u)) >> 21) -
                      (112u << 2);
  }
};

// The codes of a word, last first.
struct CodeByteOrder : WriterPolicy {
  static __device__ unsigned Turned(unsigned x) {
    return x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
  }
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    WriterPolicy::StoreCodes(row, lane,
                             make_uint2(Turned(codes.x), Turned(codes.y)));
  }
};

// Tiles 0 and 1, 2 and 3 change places; their scales do not.
struct SwapsTiles : WriterPolicy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    WriterPolicy::StoreCodes(row, lane ^ 16u, codes);
  }
};

// The last lane stores nothing.
struct DropsLastCodes : WriterPolicy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    if (lane < 63) WriterPolicy::StoreCodes(row, lane, codes);
  }
};

// The maximum's subnormal inputs, and those that are divided, are zero: a build
// with fast maths.
struct FlushesInputs : WriterPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const float quotient = Quotient<Input>(bits, scale);
    const float value = Input::ToFloat(bits);
    return FloatToE4m3(fabsf(value) < 0x1p-126f ? 0.0f * value : quotient);
  }
};

}  // namespace

std::vector<CompiledTarget> WriterCodeMutants() {
  return {
      {"mutant:codes-through-fp16",
       "writer rounds quotients to fp16 before it rounds them to codes",
       {.write = CallWriter<Fp16First>}},
      {"mutant:codes-toward-zero",
       "writer rounds quotients toward zero",
       {.write = CallWriter<TowardZero>}},
      {"mutant:codes-half-away",
       "writer rounds ties away from zero",
       {.write = CallWriter<HalfAway>}},
      {"mutant:codes-reciprocal",
       "writer multiplies by the reciprocal of the scale",
       {.write = CallWriter<Reciprocal>}},
      {"mutant:codes-clamped-at-240",
       "writer lets no code be larger than 240",
       {.write = CallWriter<Clamps<0x77>>}},
      {"mutant:codes-clamped-at-416",
       "writer lets no code be larger than 416",
       {.write = CallWriter<Clamps<0x7d>>}},
      {"mutant:codes-fnuz",
       "writer stores codes of the FNUZ format",
       {.write = CallWriter<Fnuz>}},
      {"mutant:codes-positive-zero",
       "writer drops the sign of zeros",
       {.write = CallWriter<PositiveZero>}},
      {"mutant:codes-no-subnormals",
       "writer flushes subnormal codes to zero",
       {.write = CallWriter<FlushesSubnormals>}},
      {"mutant:codes-signed-nan",
       "writer keeps the sign of a NaN",
       {.write = CallWriter<SignedNan>}},
      {"mutant:codes-nan-saturates",
       "writer turns a NaN into -448",
       {.write = CallWriter<NanSaturates>}},
      {"mutant:codes-inf-saturates",
       "writer leaves Inf out of the maximum and stores 448",
       {.write = CallWriter<InfSaturates>}},
      {"mutant:codes-e5m2",
       "writer stores codes of the E5M2 format",
       {.write = CallWriter<E5m2>}},
      {"mutant:codes-byte-order",
       "writer stores each four codes last first",
       {.write = CallWriter<CodeByteOrder>}},
      {"mutant:codes-tiles-swapped",
       "writer stores the codes of two tiles in each other's place",
       {.write = CallWriter<SwapsTiles>}},
      {"mutant:codes-last-dropped",
       "writer does not store the last 8 codes of a row",
       {.write = CallWriter<DropsLastCodes>}},
      {"mutant:codes-flushed-inputs",
       "writer takes subnormal inputs for zeros",
       {.write = CallWriter<FlushesInputs>}},
  };
}

}  // namespace mlafuzz
