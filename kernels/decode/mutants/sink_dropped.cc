// The sinks are taken and have no effect.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float Sink(const kernels::DecodeParams&, std::int64_t) {
    return -INFINITY;
  }
};

}  // namespace

CompiledDecode SinkDropped() {
  return DecodeTwin<Policy>("mutant:sink-dropped", "decode ignores the sinks");
}

}  // namespace mlafuzz
