// Says ok and writes nothing.
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

template <class Args>
CallResult Nothing(const Args&, const LaunchContext&) {
  return CallResult::Ok();
}

}  // namespace

CompiledTarget DoesNothing() {
  return {"mutant:does-nothing",
          "all kernels return at once",
          {.write = Nothing<WriteArgs>,
           .gather = Nothing<GatherArgs>,
           .convert = Nothing<ConvertArgs>,
           .decode = Nothing<DecodeArgs>}};
}

}  // namespace mlafuzz
