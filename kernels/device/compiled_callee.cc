#include "kernels/device/compiled_callee.h"

#include <algorithm>
#include <cstring>

#include "kernels/compiled_targets.h"
#include "kernels/target.h"
#include "kernels/target_set.h"

namespace mlafuzz::device {
namespace {

std::int32_t StatusOf(const CallResult& result, const MlafuzzCall& common) {
  const std::size_t length =
      std::min(result.message.size(), common.message_size - 1);
  std::memcpy(common.message, result.message.data(), length);
  common.message[length] = '\0';
  switch (result.status) {
    case CallStatus::kOk:
      return MLAFUZZ_OK;
    case CallStatus::kRefused:
      return MLAFUZZ_REFUSED;
    case CallStatus::kNotImplemented:
      return MLAFUZZ_NOT_IMPLEMENTED;
    default:
      return MLAFUZZ_ERROR;
  }
}

class Compiled : public wire::Callee {
 public:
  Compiled(const CompiledTarget& target, wire::CallMemory& memory)
      : kernels_(target.kernels), memory_(memory) {}

  std::uint32_t abi() const override { return MLAFUZZ_TARGET_ABI; }
  std::uint32_t implements() const override {
    return (kernels_.write != nullptr ? 1u : 0u) |
           (kernels_.gather != nullptr ? 2u : 0u) |
           (kernels_.convert != nullptr ? 4u : 0u) |
           (kernels_.decode != nullptr ? 8u : 0u);
  }
  // The harness has it compiled in, too.
  std::string description() const override { return ""; }

  std::int32_t MakeCall(const wire::Call& call, const MlafuzzCall& common,
                        wire::CallTensors& tensors) override {
    LaunchContext context;
    context.schedule = call.schedule;
    context.stream = common.stream;
    context.scratch = [](void* owner, std::size_t bytes) {
      return static_cast<wire::CallMemory*>(owner)->TakeScratch(bytes);
    };
    context.scratch_owner = &memory_;
    const auto layout = static_cast<Layout>(call.layout);
    switch (call.kernel) {
      case wire::kWriter:
        if (kernels_.write == nullptr) break;
        return StatusOf(
            kernels_.write({.layout = layout,
                            .kv_c = tensors.Find(wire::kKvC),
                            .k_pe = tensors.Find(wire::kKPe),
                            .slot_mapping = tensors.Find(wire::kSlotMapping),
                            .cache = tensors.Find(wire::kCache)},
                           context),
            common);
      case wire::kGather:
        if (kernels_.gather == nullptr) break;
        return StatusOf(
            kernels_.gather(
                {.layout = layout,
                 .cache = tensors.Find(wire::kCache),
                 .dst = tensors.Find(wire::kDst),
                 .block_table = tensors.Find(wire::kBlockTable),
                 .workspace_starts = tensors.Find(wire::kWorkspaceStarts),
                 .seq_lens = tensors.Find(wire::kSeqLens),
                 .seq_starts = tensors.Find(wire::kSeqStarts),
                 .nope = call.nope != 0,
                 .dst_scales = tensors.Find(wire::kDstScales),
                 .tensor_scale = call.scale},
                context),
            common);
      case wire::kConvert:
        if (kernels_.convert == nullptr) break;
        return StatusOf(
            kernels_.convert(
                {.page_size = call.page_size,
                 .request_ids = tensors.Find(wire::kRequestIds),
                 .block_table = tensors.Find(wire::kBlockTable),
                 .token_indices = tensors.Find(wire::kTokenIndices),
                 .out = tensors.Find(wire::kOut),
                 .valid_count = tensors.Find(wire::kValidCount),
                 .prefill_ids = tensors.Find(wire::kPrefillIds),
                 .prefill_starts = tensors.Find(wire::kPrefillStarts)},
                context),
            common);
      case wire::kDecode:
        if (kernels_.decode == nullptr) break;
        return StatusOf(
            kernels_.decode(
                {.layout = layout,
                 .cache = tensors.Find(wire::kCache),
                 .q = tensors.Find(wire::kQ),
                 .indices = tensors.Find(wire::kIndices),
                 .lengths = tensors.Find(wire::kLengths),
                 .sinks = tensors.Find(wire::kSinks),
                 .out = tensors.Find(wire::kAttention),
                 .lse = tensors.Find(wire::kLse),
                 .softmax_scale = call.scale,
                 .splits = call.splits,
                 .declared_topk = call.declared_topk,
                 .query_length = call.query_length,
                 .trace = tensors.Find(wire::kTrace),
                 .extra_cache = tensors.Find(wire::kExtraCache),
                 .extra_indices = tensors.Find(wire::kExtraIndices),
                 .extra_lengths = tensors.Find(wire::kExtraLengths)},
                context),
            common);
      default:
        break;
    }
    return MLAFUZZ_NOT_IMPLEMENTED;
  }

 private:
  CompiledKernels kernels_;
  wire::CallMemory& memory_;
};

}  // namespace

std::unique_ptr<wire::Callee> FindCompiled(const std::string& name,
                                           wire::CallMemory& memory) {
  for (const CompiledTarget& target : CompiledTargets()) {
    if (name == target.name) return std::make_unique<Compiled>(target, memory);
  }
  return nullptr;
}

}  // namespace mlafuzz::device
