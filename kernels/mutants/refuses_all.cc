// Refuses every call: a harness that counts refusals as skips finds it green.
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

template <class Args>
CallResult Refuse(const Args&, const LaunchContext&) {
  return CallResult::Refused("not supported on this device");
}

}  // namespace

CompiledTarget RefusesAll() {
  return {"mutant:refuses-all",
          "all kernels refuse every call",
          {.write = Refuse<WriteArgs>,
           .gather = Refuse<GatherArgs>,
           .convert = Refuse<ConvertArgs>,
           .decode = Refuse<DecodeArgs>}};
}

}  // namespace mlafuzz
