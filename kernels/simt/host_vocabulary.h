// CUDA's keywords, built-in variables and intrinsics as plain C++.
//
// Intrinsics are functions; their last parameter is the call's file, line and
// column, which tells two barriers on one line apart.
#ifndef MLAFUZZ_KERNELS_SIMT_HOST_VOCABULARY_H_
#define MLAFUZZ_KERNELS_SIMT_HOST_VOCABULARY_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "kernels/simt/cuda_types.h"
#include "kernels/simt/host_backend.h"

// ----------------------------------------------------------------- Qualifiers

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

// The name of the section begins with a dot, since ASan gives no redzones to
// sections that are named like C identifiers. `used` keeps the optimiser from
// folding a variable that has only one store into that store's value.
#define SIMT_SHARED static __attribute__((section(".simt_shared"), used))

// `constinit` refuses constructors, as CUDA does. But it also refuses vector
// types as the race detector has them.
#ifdef MLAFUZZ_RACE_DETECTOR
#define __shared__ SIMT_SHARED
#else
#define __shared__ constinit SIMT_SHARED
#endif

// Declares `T* name`, the dynamic shared memory of the block.
#define SIMT_DYN_SHARED(T, name) \
  T* name = static_cast<T*>(::mlafuzz::simt::host::DynamicSharedMemory())

// --------------------------------------------------------- Built-in variables

namespace mlafuzz::simt {
inline namespace host {
inline const uint3& ThreadIdx() { return current_lane->thread; }
inline const uint3& BlockIdx() { return block_index; }
inline const dim3& BlockDim() { return block_dim; }
inline const dim3& GridDim() { return grid_dim; }
}  // namespace host
}  // namespace mlafuzz::simt

#define threadIdx (::mlafuzz::simt::host::ThreadIdx())
#define blockIdx (::mlafuzz::simt::host::BlockIdx())
#define blockDim (::mlafuzz::simt::host::BlockDim())
#define gridDim (::mlafuzz::simt::host::GridDim())
inline constexpr int warpSize = 32;

// ------------------------------------------------------------ Synchronisation

inline void __syncthreads(
    std::source_location site = std::source_location::current()) {
  ::mlafuzz::simt::host::MeetBlock(site);
}

inline void __syncwarp(
    unsigned mask = 0xffffffffu,
    std::source_location site = std::source_location::current()) {
  ::mlafuzz::simt::host::MeetWarp(::mlafuzz::simt::host::WarpOp::kSyncWarp,
                                  mask, 0, 0, 32, site);
}

// Stores are seen at once, so fences have nothing to do.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// ---------------------------------------------------------------------- Votes

inline unsigned __ballot_sync(
    unsigned mask, int predicate,
    std::source_location site = std::source_location::current()) {
  return static_cast<unsigned>(
      ::mlafuzz::simt::host::MeetWarp(::mlafuzz::simt::host::WarpOp::kBallot,
                                      mask, predicate != 0, 0, 32, site));
}

inline int __any_sync(
    unsigned mask, int predicate,
    std::source_location site = std::source_location::current()) {
  return __ballot_sync(mask, predicate, site) != 0;
}

inline int __all_sync(
    unsigned mask, int predicate,
    std::source_location site = std::source_location::current()) {
  return __ballot_sync(mask, predicate == 0, site) == 0;
}

// ------------------------------------------------------------------- Shuffles

namespace mlafuzz::simt {
inline namespace host {

// CUDA has overloads for int and wider; narrower arguments are promoted.
template <class T>
  requires std::is_arithmetic_v<T>
auto Shuffle(WarpOp op, unsigned mask, T value, unsigned operand, int width,
             std::source_location site) {
  using Wide = decltype(+value);
  static_assert(sizeof(Wide) <= sizeof(std::uint64_t));
  Wide wide = value;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &wide, sizeof wide);
  bits = MeetWarp(op, mask, bits, operand, width, site);
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

}  // namespace host
}  // namespace mlafuzz::simt

#define SIMT_SHUFFLE(name, op, Operand)                                    \
  template <class T>                                                       \
  auto name(unsigned mask, T value, Operand operand, int width = 32,       \
            std::source_location site = std::source_location::current()) { \
    return ::mlafuzz::simt::host::Shuffle(                                 \
        ::mlafuzz::simt::host::WarpOp::op, mask, value,                    \
        static_cast<unsigned>(operand), width, site);                      \
  }
SIMT_SHUFFLE(__shfl_sync, kShuffle, int)
SIMT_SHUFFLE(__shfl_up_sync, kShuffleUp, unsigned)
SIMT_SHUFFLE(__shfl_down_sync, kShuffleDown, unsigned)
SIMT_SHUFFLE(__shfl_xor_sync, kShuffleXor, int)
#undef SIMT_SHUFFLE

// -------------------------------------------------------------------- Atomics

namespace mlafuzz::simt {
inline namespace host {

// Untraced: to the race detector the two accesses are one atomic one. Never
// inlined, or they would take on the caller's tracing.
template <class T, class F>
__attribute__((noinline, no_sanitize("coverage"))) T Update(T* address, F f) {
  const T old = *address;
  *address = f(old);
  return old;
}

// Integers wrap.
template <class T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <class T, class F>
T AtomicUpdate(T* address, F f) {
  TraceAtomic(address, sizeof *address);
  return Update(address, f);
}

}  // namespace host
}  // namespace mlafuzz::simt

#define SIMT_ATOMIC(name, expression)                                \
  template <class T>                                                 \
  T name(T* address, std::type_identity_t<T> value) {                \
    return ::mlafuzz::simt::host::AtomicUpdate(                      \
        address, [=](T old) { return static_cast<T>(expression); }); \
  }
SIMT_ATOMIC(atomicAdd, ::mlafuzz::simt::host::Sum(old, value))
SIMT_ATOMIC(atomicMax, old < value ? value : old)
SIMT_ATOMIC(atomicMin, value < old ? value : old)
SIMT_ATOMIC(atomicAnd, old& value)
SIMT_ATOMIC(atomicOr, old | value)
SIMT_ATOMIC(atomicXor, old ^ value)
SIMT_ATOMIC(atomicExch, (static_cast<void>(old), value))
#undef SIMT_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected,
            std::type_identity_t<T> value) {
  return ::mlafuzz::simt::host::AtomicUpdate(
      address, [=](T old) { return old == expected ? value : old; });
}

// ------------------------------------------------------------------ Bit casts

inline float __uint_as_float(unsigned u) { return std::bit_cast<float>(u); }
inline unsigned __float_as_uint(float f) { return std::bit_cast<unsigned>(f); }
inline float __int_as_float(int i) { return std::bit_cast<float>(i); }
inline int __float_as_int(float f) { return std::bit_cast<int>(f); }
inline double __longlong_as_double(long long i) {
  return std::bit_cast<double>(i);
}
inline long long __double_as_longlong(double d) {
  return std::bit_cast<long long>(d);
}

// ----------------------------------------------------------------------- Bits

inline int __popc(unsigned u) { return std::popcount(u); }
inline int __popcll(unsigned long long u) { return std::popcount(u); }
inline int __clz(int i) { return std::countl_zero(static_cast<unsigned>(i)); }
inline int __clzll(long long i) {
  return std::countl_zero(static_cast<unsigned long long>(i));
}
inline int __ffs(int i) { return __builtin_ffs(i); }
inline int __ffsll(long long i) { return __builtin_ffsll(i); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}

template <class T>
T __ldg(const T* address) {
  return *address;
}

// ----------------------------------------------------------------- Arithmetic
// Only what rounds the same on both sides. The round-to-nearest intrinsics
// also stop contraction; here -ffp-contract=off does.

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }

// Not templates: so that they win over templates of the same name, and mixed
// arguments convert as with CUDA's overloads.
#define SIMT_MIN_MAX(T)                               \
  constexpr T min(T a, T b) { return b < a ? b : a; } \
  constexpr T max(T a, T b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

#endif  // MLAFUZZ_KERNELS_SIMT_HOST_VOCABULARY_H_
