#include "kernels/compiled_targets.h"

#include "absl/strings/string_view.h"
#include "corpus/contracts.h"
#include "kernels/builtin.h"
#include "kernels/compacting.h"
#include "kernels/decode/compiled_decode.h"
#include "kernels/decode/controls/controls.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/mutants/mutants.h"
#include "kernels/layouts/layouts.h"
#include "kernels/layouts/mutants/mutants.h"
#include "kernels/mutants/mutants.h"
#include "kernels/mutants/variants.h"
#include "kernels/workspace.h"
#include "kernels/writers.h"

namespace mlafuzz {
namespace {

CompiledTarget DecodeTarget(const CompiledDecode& decode) {
  CompiledTarget target{decode.name, decode.what, {.decode = decode.decode}};
  target.contract = decode.contract;
  return target;
}

}  // namespace

const std::vector<CompiledTarget>& CompiledTargets() {
  static const auto* const kTargets = [] {
    auto* all = new std::vector<CompiledTarget>{Builtin(), BuiltinPow2()};
    for (const CompiledDecode& decode : BuiltinDecodes()) {
      // builtin is one target with all four kernels.
      if (absl::string_view(decode.name) == all->front().name) {
        all->front().kernels.decode = decode.decode;
      } else {
        all->push_back(DecodeTarget(decode));
      }
    }
    all->push_back(Compacting());
    all->push_back(Workspace());
    for (const auto targets : {WriterTargets, LayoutTargets, RowGatherTargets,
                               Mutants, OtherWriterMutants, CompactingMutants,
                               WorkspaceMutants, LayoutMutants}) {
      for (const CompiledTarget& target : targets()) all->push_back(target);
    }
    for (const auto decodes : {DecodeMutants, DecodeControls}) {
      for (const CompiledDecode& decode : decodes()) {
        all->push_back(DecodeTarget(decode));
      }
    }
    return all;
  }();
  return *kTargets;
}

Contract ContractOf(const CompiledTarget& compiled) {
  Contract contract =
      compiled.contract != nullptr ? compiled.contract() : BuiltinContract();
  if (compiled.pow2_scale) {
    contract.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
    contract.mutable_writer()->set_floor_bits(0x38d1b717);  // 1e-4
  }
  return contract;
}

}  // namespace mlafuzz
