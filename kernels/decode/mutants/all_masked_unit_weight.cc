// A masked lane's score is a finite sentinel, and slot 0 stands in for its row.
// That vanishes beside a key; but where a row has none, the maximum is the
// sentinel itself and each masked lane weighs 1.
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

struct Policy : kernels::DecodePolicy {
  static __device__ float MaskedScore() { return -1e30f; }
  static __device__ std::int64_t MaskedRow(const kernels::DecodeParams&,
                                           std::int32_t) {
    return 0;
  }
};

}  // namespace

CompiledDecode AllMaskedUnitWeight() {
  return DecodeTwin<Policy>(
      "mutant:all-masked-unit-weight",
      "decode gives a row without keys the mean of slot 0");
}

}  // namespace mlafuzz
