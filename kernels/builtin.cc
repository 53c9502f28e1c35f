#include "kernels/builtin.h"

#include "kernels/host_kernels.h"

namespace mlafuzz {

CompiledTarget Builtin() {
  return {"builtin",
          "this project's kernels, scales as computed",
          {.write = HostWrite<kernels::WriterPolicy>,
           .gather = HostGather<kernels::GatherPolicy>,
           .convert = HostConvert<kernels::ConvertPolicy>}};
}

CompiledTarget BuiltinPow2() {
  return {"builtin:pow2",
          "this project's kernels, power-of-two scales",
          {.write = HostWrite<kernels::WriterPolicy, /*kPow2Scale=*/true>},
          /*pow2_scale=*/true};
}

}  // namespace mlafuzz
