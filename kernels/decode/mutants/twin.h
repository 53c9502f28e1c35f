// What wrong decodes have in common: builtin with another policy, or with
// parameters that its host got wrong.
#ifndef MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_
#define MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_

#include <cmath>
#include <cstdint>

#include "kernels/decode/compiled_decode.h"
#include "kernels/decode/decode.cuh"
#include "kernels/decode/decode.h"
#include "kernels/decode/decode_call.h"

namespace mlafuzz {

inline constexpr DecodeOptions kBuiltinDecode = {};

// The kernel of `Policy`, which does `kDoes` and promises what builtin does.
template <class Policy, const DecodeOptions& kDoes = kBuiltinDecode>
CompiledDecode DecodeTwin(const char* name, const char* what) {
  return {name, what,
          [](const DecodeArgs& args, const LaunchContext& context) {
            return CallDecode<Policy>(args, context, kDoes);
          },
          [] { return DecodeContractOf({}); }};
}

// Builtin's kernel with parameters as `adjust` leaves them.
CallResult DecodeAdjusted(const DecodeArgs& args, const LaunchContext& context,
                          void (*adjust)(kernels::DecodeParams&));

template <void (*kAdjust)(kernels::DecodeParams&)>
CompiledDecode DecodeHostTwin(const char* name, const char* what) {
  return {name, what,
          [](const DecodeArgs& args, const LaunchContext& context) {
            return DecodeAdjusted(args, context, kAdjust);
          },
          [] { return DecodeContractOf({}); }};
}

// Any other call that promises what builtin does.
template <CallResult (*kDecode)(const DecodeArgs&, const LaunchContext&)>
CompiledDecode DecodeCallTwin(const char* name, const char* what) {
  return {name, what, kDecode, [] { return DecodeContractOf({}); }};
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_
