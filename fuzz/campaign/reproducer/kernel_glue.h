// ---- The kernel above as a library's functions.
namespace {

mlafuzz::CompiledTarget embedded_kernel;

inline std::int32_t Answer(const mlafuzz::CallResult& result,
                           const MlafuzzCall* call) {
  std::snprintf(call->message, call->message_size, "%s",
                result.message.c_str());
  switch (result.status) {
    case mlafuzz::CallStatus::kOk:
      return MLAFUZZ_OK;
    case mlafuzz::CallStatus::kRefused:
      return MLAFUZZ_REFUSED;
    case mlafuzz::CallStatus::kNotImplemented:
      return MLAFUZZ_NOT_IMPLEMENTED;
    default:
      return MLAFUZZ_ERROR;
  }
}

// Memory for the length of the process, which makes one call.
inline void* Scratch(void*, std::size_t bytes) {
  void* data = nullptr;
  return cudaMalloc(&data, bytes) == cudaSuccess ? data : nullptr;
}

inline mlafuzz::LaunchContext ContextOf(const MlafuzzCall* call) {
  mlafuzz::LaunchContext context;
  context.schedule = kSchedule;
  context.stream = call->stream;
  context.scratch = Scratch;
  return context;
}

inline std::int32_t EmbeddedWrite(const MlafuzzCall* call,
                                  const MlafuzzWrite* a) {
  const mlafuzz::WriteArgs args = {static_cast<mlafuzz::Layout>(call->layout),
                                   a->kv_c, a->k_pe, a->slot_mapping, a->cache};
  return Answer(embedded_kernel.kernels.write(args, ContextOf(call)), call);
}

inline std::int32_t EmbeddedGather(const MlafuzzCall* call,
                                   const MlafuzzGather* a) {
  const mlafuzz::GatherArgs args = {static_cast<mlafuzz::Layout>(call->layout),
                                    a->cache,
                                    a->dst,
                                    a->block_table,
                                    a->workspace_starts,
                                    a->seq_lens,
                                    a->seq_starts,
                                    a->nope != 0,
                                    a->dst_scales,
                                    a->tensor_scale};
  return Answer(embedded_kernel.kernels.gather(args, ContextOf(call)), call);
}

inline std::int32_t EmbeddedConvert(const MlafuzzCall* call,
                                    const MlafuzzConvert* a) {
  const mlafuzz::ConvertArgs args = {a->page_size,
                                     a->request_ids,
                                     a->block_table,
                                     a->token_indices,
                                     a->out,
                                     a->valid_count,
                                     a->prefill_request_ids,
                                     a->prefill_workspace_starts};
  return Answer(embedded_kernel.kernels.convert(args, ContextOf(call)), call);
}

inline std::int32_t EmbeddedDecode(const MlafuzzCall* call,
                                   const MlafuzzDecode* a) {
  const mlafuzz::DecodeArgs args = {static_cast<mlafuzz::Layout>(call->layout),
                                    a->cache,
                                    a->q,
                                    a->indices,
                                    a->lengths,
                                    a->sinks,
                                    a->out,
                                    a->lse,
                                    a->softmax_scale,
                                    a->splits,
                                    a->declared_topk,
                                    a->query_length,
                                    nullptr,
                                    a->extra_cache,
                                    a->extra_indices,
                                    a->extra_lengths};
  return Answer(embedded_kernel.kernels.decode(args, ContextOf(call)), call);
}

}  // namespace

const MlafuzzTarget* mlafuzz_target(void) {
  static MlafuzzTarget target = MlafuzzTarget();
  target.struct_size = sizeof target;
  target.abi = MLAFUZZ_TARGET_ABI;
  for (const mlafuzz::CompiledTarget& one : EmbeddedKernels()) {
    if (std::string(one.name) == kEmbeddedKernel) embedded_kernel = one;
  }
  if (embedded_kernel.kernels.write != nullptr) target.write = EmbeddedWrite;
  if (embedded_kernel.kernels.gather != nullptr) target.gather = EmbeddedGather;
  if (embedded_kernel.kernels.convert != nullptr) {
    target.convert = EmbeddedConvert;
  }
  if (embedded_kernel.kernels.decode != nullptr) target.decode = EmbeddedDecode;
  return &target;
}
