#include "kernels/call_args.h"

#include <algorithm>
#include <bit>

namespace mlafuzz {
namespace {

DLDataType ToDLDataType(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * DTypeSize(dtype));
  switch (dtype) {
    case BF16:
      return {kDLBfloat, bits, 1};
    case F16:
    case F32:
      return {kDLFloat, bits, 1};
    case I32:
    case I64:
      return {kDLInt, bits, 1};
    default:
      return {kDLUInt, bits, 1};
  }
}

}  // namespace

CallArgs::CallArgs(const PoolImage& pool, std::uint8_t* cache,
                   const StepImage& step, absl::Span<std::uint8_t* const> data,
                   DLDevice device)
    : pool_(pool), step_(step), views_(step.tensors.size()) {
  cache_.shape = {pool.pages, pool.page_size, pool.row_bytes};
  cache_.strides = {pool.page_stride, pool.token_stride(), 1};
  cache_.tensor = {cache,
                   device,
                   3,
                   ToDLDataType(U8),
                   cache_.shape.data(),
                   cache_.strides.data(),
                   0};
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const Tensor& tensor = step.tensors[i];
    View& view = views_[i];
    view.shape = tensor.shape;
    view.strides = tensor.strides;
    view.tensor = {data[i],
                   device,
                   tensor.ndim,
                   ToDLDataType(tensor.dtype),
                   view.shape.data(),
                   view.strides.data(),
                   0};
  }
}

const DLTensor* CallArgs::Find(TensorId id) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (step_.tensors[i].id == id) return &views_[i].tensor;
  }
  return nullptr;
}

CallResult CallArgs::Call(Target* target, const LaunchContext& context) const {
  if (target == nullptr || !target->Implements(step_.kernel)) {
    return CallResult::NotImplemented();
  }
  switch (step_.kernel) {
    case Kernel::kWriter: {
      const WriteArgs args = {
          .layout = pool_.layout,
          .kv_c = Find(TensorId::kKvC),
          .k_pe = Find(TensorId::kKPe),
          .slot_mapping = Find(TensorId::kSlotMapping),
          .cache = &cache_.tensor,
      };
      return target->Write(args, context);
    }
    case Kernel::kGather: {
      const GatherArgs args = {
          .layout = pool_.layout,
          .cache = &cache_.tensor,
          .dst = Find(TensorId::kDst),
          .block_table = Find(TensorId::kBlockTable),
          .workspace_starts = Find(TensorId::kWorkspaceStarts),
          .seq_lens = Find(TensorId::kSeqLens),
          .seq_starts = Find(TensorId::kSeqStarts),
          .nope = step_.step->gather().nope(),
          .dst_scales = Find(TensorId::kDstScales),
          .tensor_scale =
              std::bit_cast<float>(step_.step->gather().tensor_scale_bits()),
      };
      return target->Gather(args, context);
    }
    case Kernel::kConvert: {
      const ConvertArgs args = {
          .page_size = pool_.page_size,
          .request_ids = Find(TensorId::kRequestIds),
          .block_table = Find(TensorId::kBlockTable),
          .token_indices = Find(TensorId::kTokenIndices),
          .out = Find(TensorId::kOut),
          .valid_count = Find(TensorId::kValidCount),
          .prefill_ids = Find(TensorId::kPrefillIds),
          .prefill_starts = Find(TensorId::kPrefillStarts),
      };
      return target->ConvertIndices(args, context);
    }
    case Kernel::kDecode: {
      const Decode& call = step_.step->decode();
      const DecodeArgs args = {
          .layout = pool_.layout,
          .cache = &cache_.tensor,
          .q = Find(TensorId::kQ),
          .indices = Find(TensorId::kIndices),
          .lengths = Find(TensorId::kLengths),
          .sinks = Find(TensorId::kSinks),
          .out = Find(TensorId::kAttention),
          .lse = Find(TensorId::kLse),
          .softmax_scale = std::bit_cast<float>(call.softmax_scale_bits()),
          .splits = call.splits(),
          .declared_topk = call.declared_topk(),
          .query_length = std::max<std::int64_t>(call.query_length(), 1),
          .trace = Find(TensorId::kTrace),
          .extra_cache = Find(TensorId::kExtraCache),
          .extra_indices = Find(TensorId::kExtraIndices),
          .extra_lengths = Find(TensorId::kExtraLengths),
      };
      return target->Decode(args, context);
    }
  }
  return CallResult::NotImplemented();
}

}  // namespace mlafuzz
