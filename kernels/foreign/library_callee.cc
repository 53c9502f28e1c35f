#include "kernels/foreign/library_callee.h"

#include <dlfcn.h>

#include <cstddef>

namespace mlafuzz::wire {
namespace {

// A function of the structure, null where the library's header had none.
template <typename F>
F Member(const MlafuzzTarget& target, F MlafuzzTarget::* member) {
  const auto offset = reinterpret_cast<const char*>(&(target.*member)) -
                      reinterpret_cast<const char*>(&target);
  const auto end = static_cast<std::size_t>(offset) + sizeof(F);
  return target.struct_size >= end ? target.*member : nullptr;
}

class Library : public Callee {
 public:
  explicit Library(const MlafuzzTarget* target) : target_(target) {}

  std::uint32_t abi() const override { return target_->abi; }
  std::uint32_t implements() const override {
    return (Member(*target_, &MlafuzzTarget::write) != nullptr ? 1u : 0u) |
           (Member(*target_, &MlafuzzTarget::gather) != nullptr ? 2u : 0u) |
           (Member(*target_, &MlafuzzTarget::convert) != nullptr ? 4u : 0u) |
           (Member(*target_, &MlafuzzTarget::decode) != nullptr ? 8u : 0u);
  }
  std::string description() const override {
    return target_->description == nullptr ? "" : target_->description;
  }
  std::int32_t MakeCall(const Call& call, const MlafuzzCall& common,
                        CallTensors& tensors) override;

 private:
  const MlafuzzTarget* target_;
};

std::int32_t Library::MakeCall(const Call& call, const MlafuzzCall& common,
                               CallTensors& tensors) {
  switch (call.kernel) {
    case kWriter: {
      const auto write = Member(*target_, &MlafuzzTarget::write);
      if (write == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzWrite args = {};
      args.struct_size = sizeof args;
      args.kv_c = tensors.Find(kKvC);
      args.k_pe = tensors.Find(kKPe);
      args.slot_mapping = tensors.Find(kSlotMapping);
      args.cache = tensors.Find(kCache);
      return write(&common, &args);
    }
    case kGather: {
      const auto gather = Member(*target_, &MlafuzzTarget::gather);
      if (gather == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzGather args = {};
      args.struct_size = sizeof args;
      args.nope = call.nope;
      args.cache = tensors.Find(kCache);
      args.dst = tensors.Find(kDst);
      args.block_table = tensors.Find(kBlockTable);
      args.workspace_starts = tensors.Find(kWorkspaceStarts);
      args.seq_lens = tensors.Find(kSeqLens);
      args.seq_starts = tensors.Find(kSeqStarts);
      args.dst_scales = tensors.Find(kDstScales);
      args.tensor_scale = call.scale;
      return gather(&common, &args);
    }
    case kConvert: {
      const auto convert = Member(*target_, &MlafuzzTarget::convert);
      if (convert == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzConvert args = {};
      args.struct_size = sizeof args;
      args.page_size = call.page_size;
      args.request_ids = tensors.Find(kRequestIds);
      args.block_table = tensors.Find(kBlockTable);
      args.token_indices = tensors.Find(kTokenIndices);
      args.out = tensors.Find(kOut);
      args.valid_count = tensors.Find(kValidCount);
      args.prefill_request_ids = tensors.Find(kPrefillIds);
      args.prefill_workspace_starts = tensors.Find(kPrefillStarts);
      return convert(&common, &args);
    }
    case kDecode: {
      const auto decode = Member(*target_, &MlafuzzTarget::decode);
      if (decode == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzDecode args = {};
      args.struct_size = sizeof args;
      args.softmax_scale = call.scale;
      args.splits = call.splits;
      args.declared_topk = call.declared_topk;
      args.query_length = call.query_length;
      args.cache = tensors.Find(kCache);
      args.q = tensors.Find(kQ);
      args.indices = tensors.Find(kIndices);
      args.lengths = tensors.Find(kLengths);
      args.sinks = tensors.Find(kSinks);
      args.out = tensors.Find(kAttention);
      args.lse = tensors.Find(kLse);
      args.extra_cache = tensors.Find(kExtraCache);
      args.extra_indices = tensors.Find(kExtraIndices);
      args.extra_lengths = tensors.Find(kExtraLengths);
      return decode(&common, &args);
    }
    default:
      return MLAFUZZ_NOT_IMPLEMENTED;
  }
}

}  // namespace

std::unique_ptr<Callee> LoadLibrary(const char* path, std::string* why) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *why = dlerror();
    return nullptr;
  }
  const auto get = reinterpret_cast<const MlafuzzTarget* (*)()>(
      dlsym(library, "mlafuzz_target"));
  if (get == nullptr) {
    *why = std::string(path) +
           " exports no function mlafuzz_target; in C++ it must be extern "
           "\"C\"";
    return nullptr;
  }
  const MlafuzzTarget* const target = get();
  constexpr std::size_t kSmallest = offsetof(MlafuzzTarget, write);
  if (target == nullptr) {
    *why = "mlafuzz_target() returned null";
  } else if (target->struct_size < kSmallest || target->struct_size > 65536) {
    *why = "struct_size of its MlafuzzTarget is " +
           std::to_string(target->struct_size) +
           "; set it to sizeof(MlafuzzTarget)";
  } else if (target->abi != MLAFUZZ_TARGET_ABI) {
    *why = "it was built for version " + std::to_string(target->abi) +
           " of the interface, this harness speaks version " +
           std::to_string(MLAFUZZ_TARGET_ABI);
  } else {
    return std::make_unique<Library>(target);
  }
  return nullptr;
}

}  // namespace mlafuzz::wire
