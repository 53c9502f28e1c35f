#include "kernels/foreign/wire_encoder.h"

#include <algorithm>

namespace mlafuzz {
namespace {

// The runner, which knows nothing of the corpus, counts them like this.
static_assert(static_cast<int>(Kernel::kWriter) == 0 &&
              static_cast<int>(Kernel::kDecode) == 3);
static_assert(static_cast<int>(TensorId::kKvC) == 0 &&
              static_cast<int>(TensorId::kDst) == 3 &&
              static_cast<int>(TensorId::kRequestIds) == 8 &&
              static_cast<int>(TensorId::kQ) == 12 &&
              static_cast<int>(TensorId::kAttention) == 16 &&
              static_cast<int>(TensorId::kLse) == 17 &&
              static_cast<int>(TensorId::kTrace) == 18 &&
              static_cast<int>(TensorId::kDstScales) == 19 &&
              static_cast<int>(TensorId::kExtraLengths) == 22 &&
              static_cast<int>(TensorId::kPrefillStarts) == 24);

template <typename T>
void Append(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void WireEncoder::Add(std::uint32_t id, const DLTensor* tensor) {
  if (tensor == nullptr) return;
  wire::Tensor wire;
  wire.id = id;
  wire.code = tensor->dtype.code;
  wire.bits = tensor->dtype.bits;
  wire.ndim = static_cast<std::uint16_t>(tensor->ndim);
  wire.offset = static_cast<std::uint64_t>(
      static_cast<const std::uint8_t*>(tensor->data) - base_);
  // Without an entry, nothing but element 0 is promised to be there.
  wire.begin = wire.offset;
  for (const Buffer& buffer : buffers_) {
    if (buffer.id != id) continue;
    wire.begin = static_cast<std::uint64_t>(buffer.data - base_);
    wire.size = buffer.size;
  }
  for (int i = 0; i < std::min(tensor->ndim, 3); ++i) {
    wire.shape[static_cast<std::size_t>(i)] = tensor->shape[i];
    wire.strides[static_cast<std::size_t>(i)] = tensor->strides[i];
  }
  Append(wire, tensors_);
  ++tensor_count_;
}

CallResult WireEncoder::End(Kernel kernel, const LaunchContext& context,
                            wire::Call call) {
  call.schedule = context.schedule;
  call.launch = lent_                              ? wire::kLent
                : context.launch == Launch::kGraph ? wire::kGraph
                                                   : wire::kDirect;
  call.kernel = static_cast<std::uint32_t>(kernel);
  call.tensors = tensor_count_;
  Append(call, bytes_);
  bytes_ += tensors_;
  tensors_.clear();
  tensor_count_ = 0;
  ++calls_;
  return CallResult::Ok();
}

CallResult WireEncoder::Write(const WriteArgs& args,
                              const LaunchContext& context) {
  Add(TensorId::kKvC, args.kv_c);
  Add(TensorId::kKPe, args.k_pe);
  Add(TensorId::kSlotMapping, args.slot_mapping);
  Add(wire::kCache, args.cache);
  wire::Call call;
  call.layout = static_cast<std::uint32_t>(args.layout);
  return End(Kernel::kWriter, context, call);
}

CallResult WireEncoder::Gather(const GatherArgs& args,
                               const LaunchContext& context) {
  Add(wire::kCache, args.cache);
  Add(TensorId::kDst, args.dst);
  Add(TensorId::kBlockTable, args.block_table);
  Add(TensorId::kWorkspaceStarts, args.workspace_starts);
  Add(TensorId::kSeqLens, args.seq_lens);
  Add(TensorId::kSeqStarts, args.seq_starts);
  Add(TensorId::kDstScales, args.dst_scales);
  wire::Call call;
  call.layout = static_cast<std::uint32_t>(args.layout);
  call.nope = args.nope ? 1 : 0;
  call.scale = args.tensor_scale;
  return End(Kernel::kGather, context, call);
}

CallResult WireEncoder::ConvertIndices(const ConvertArgs& args,
                                       const LaunchContext& context) {
  Add(TensorId::kRequestIds, args.request_ids);
  Add(TensorId::kBlockTable, args.block_table);
  Add(TensorId::kTokenIndices, args.token_indices);
  Add(TensorId::kOut, args.out);
  Add(TensorId::kValidCount, args.valid_count);
  Add(TensorId::kPrefillIds, args.prefill_ids);
  Add(TensorId::kPrefillStarts, args.prefill_starts);
  wire::Call call;
  call.page_size = args.page_size;
  return End(Kernel::kConvert, context, call);
}

CallResult WireEncoder::Decode(const DecodeArgs& args,
                               const LaunchContext& context) {
  Add(wire::kCache, args.cache);
  Add(TensorId::kQ, args.q);
  Add(TensorId::kIndices, args.indices);
  Add(TensorId::kLengths, args.lengths);
  Add(TensorId::kSinks, args.sinks);
  Add(TensorId::kAttention, args.out);
  Add(TensorId::kLse, args.lse);
  Add(TensorId::kTrace, args.trace);
  Add(TensorId::kExtraCache, args.extra_cache);
  Add(TensorId::kExtraIndices, args.extra_indices);
  Add(TensorId::kExtraLengths, args.extra_lengths);
  wire::Call call;
  call.layout = static_cast<std::uint32_t>(args.layout);
  call.scale = args.softmax_scale;
  call.splits = args.splits;
  call.declared_topk = args.declared_topk;
  call.query_length = args.query_length;
  return End(Kernel::kDecode, context, call);
}

}  // namespace mlafuzz
