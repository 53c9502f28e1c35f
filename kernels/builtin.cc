#include "kernels/builtin.h"

#include "kernels/kernel_calls.h"

namespace mlafuzz {

CompiledTarget Builtin() {
  return {"builtin",
          "this project's kernels, scales as computed",
          {.write = CallWriter<kernels::WriterPolicy>,
           .gather = CallGather<kernels::GatherPolicy>,
           .convert = CallConvert<kernels::ConvertPolicy>}};
}

CompiledTarget BuiltinPow2() {
  return {"builtin:pow2",
          "this project's kernels, power-of-two scales",
          {.write = CallWriter<kernels::WriterPolicy, /*kPow2Scale=*/true>},
          /*pow2_scale=*/true};
}

}  // namespace mlafuzz
