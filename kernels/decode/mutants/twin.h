// What wrong decodes have in common: builtin with another policy.
#ifndef MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_
#define MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_

#include <cmath>
#include <cstdint>

#include "kernels/decode/compiled_decode.h"
#include "kernels/decode/decode.cuh"
#include "kernels/decode/decode.h"
#include "kernels/decode/decode_call.h"

namespace mlafuzz {

template <class Policy>
CompiledDecode DecodeTwin(const char* name, const char* what) {
  return {name, what,
          [](const DecodeArgs& args, const LaunchContext& context) {
            return CallDecode<Policy>(args, context, {});
          },
          [] { return DecodeContractOf({}); }};
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_MUTANTS_TWIN_H_
