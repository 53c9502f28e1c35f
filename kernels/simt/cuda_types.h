// CUDA's built-in vector types for the host backend, with CUDA's alignments
// (the wide ones make 8- and 16-byte accesses, so a misaligned pointer is a
// fault that UBSan reports).
#ifndef MLAFUZZ_KERNELS_SIMT_CUDA_TYPES_H_
#define MLAFUZZ_KERNELS_SIMT_CUDA_TYPES_H_

#if defined(__CUDA_RUNTIME_H__) || defined(__VECTOR_TYPES_H__) || \
    defined(__HOST_DEFINES_H__) || defined(__shared__)
#error \
    "CUDA headers define __shared__ as nothing on the host: every lane would \
get its own copy. Keep them out of translation units that use simt.h."
#endif

// Clang copies a struct of 16 bytes with memcpy, which the race detector cannot
// see; member by member it can. Aggregates may have assignment operators.
#ifdef MLAFUZZ_RACE_DETECTOR
#define SIMT_TRACED_COPY(name, ...)    \
  name& operator=(const name& other) { \
    __VA_ARGS__;                       \
    return *this;                      \
  }
#else
#define SIMT_TRACED_COPY(name, ...)
#endif

#define SIMT_VECTOR_2(name, T)                       \
  struct alignas(2 * sizeof(T)) name {               \
    T x, y;                                          \
    SIMT_TRACED_COPY(name, x = other.x, y = other.y) \
  };                                                 \
  constexpr name make_##name(T x, T y) { return {x, y}; }
#define SIMT_VECTOR_3(name, T)                                    \
  struct name {                                                   \
    T x, y, z;                                                    \
    SIMT_TRACED_COPY(name, x = other.x, y = other.y, z = other.z) \
  };                                                              \
  constexpr name make_##name(T x, T y, T z) { return {x, y, z}; }
#define SIMT_VECTOR_4(name, T)                                                 \
  struct alignas(4 * sizeof(T)) name {                                         \
    T x, y, z, w;                                                              \
    SIMT_TRACED_COPY(name, x = other.x, y = other.y, z = other.z, w = other.w) \
  };                                                                           \
  constexpr name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTOR_2(char2, signed char)
SIMT_VECTOR_2(uchar2, unsigned char)
SIMT_VECTOR_2(short2, short)
SIMT_VECTOR_2(ushort2, unsigned short)
SIMT_VECTOR_2(int2, int)
SIMT_VECTOR_2(uint2, unsigned)
SIMT_VECTOR_2(longlong2, long long)
SIMT_VECTOR_2(ulonglong2, unsigned long long)
SIMT_VECTOR_2(float2, float)
SIMT_VECTOR_2(double2, double)
SIMT_VECTOR_3(int3, int)
SIMT_VECTOR_3(uint3, unsigned)
SIMT_VECTOR_3(float3, float)
SIMT_VECTOR_4(char4, signed char)
SIMT_VECTOR_4(uchar4, unsigned char)
SIMT_VECTOR_4(short4, short)
SIMT_VECTOR_4(ushort4, unsigned short)
SIMT_VECTOR_4(int4, int)
SIMT_VECTOR_4(uint4, unsigned)
SIMT_VECTOR_4(float4, float)
#undef SIMT_VECTOR_2
#undef SIMT_VECTOR_3
#undef SIMT_VECTOR_4
#undef SIMT_TRACED_COPY

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#endif  // MLAFUZZ_KERNELS_SIMT_CUDA_TYPES_H_
