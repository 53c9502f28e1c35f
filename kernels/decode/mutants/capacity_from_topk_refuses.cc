// The host takes the model's top-k for the width that index rows must have, and
// refuses a legal wider buffer (2176 for a top-k of 2048).
#include "absl/strings/str_cat.h"
#include "kernels/decode/mutants/mutants.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

CallResult DecodeOfTopk(const DecodeArgs& args, const LaunchContext& context) {
  const std::int64_t topk = args.declared_topk;
  if (topk > 0 && args.indices != nullptr && args.indices->ndim == 2 &&
      args.indices->shape[1] != topk) {
    return CallResult::Refused(absl::StrCat(
        "expects block_tables of shape (B, ", args.query_length, ", ", topk,
        "), got (B, ", args.query_length, ", ", args.indices->shape[1], ")"));
  }
  return CallDecode<kernels::DecodePolicy>(args, context, {});
}

}  // namespace

CompiledDecode CapacityFromTopkRefuses() {
  return {"mutant:capacity-from-topk-refuses",
          "decode refuses index rows wider than the declared top-k",
          DecodeOfTopk, [] { return DecodeContractOf({}); }};
}

}  // namespace mlafuzz
