#include "kernels/compacting.h"

#include "corpus/contracts.h"
#include "kernels/compact_call.h"

namespace mlafuzz {
namespace {

Contract CompactingContract() {
  Contract contract = BuiltinContract();
  ConvertContract& convert = *contract.mutable_convert();
  convert.set_order(ConvertContract::COMPACTED);
  convert.set_requests(ConvertContract::REQUESTS_INVALID);
  return contract;
}

}  // namespace

CompiledTarget Compacting() {
  return {.name = "builtin:compacting",
          .what = "index conversion, valid entries first, any request id",
          .kernels = {.convert = CallCompact<kernels::CompactPolicy>},
          .contract = CompactingContract};
}

}  // namespace mlafuzz
