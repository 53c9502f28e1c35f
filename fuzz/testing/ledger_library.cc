// A target that is compiled in, as a foreign library, so that what is made for
// libraries (repro.cc) can be tried on every wrong kernel of the ledger. Its
// file's name says which: "mutant@NAME.so" is mutant:NAME, "builtin.so" the
// right kernels. Built once; each name is a link or a copy.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "google/protobuf/text_format.h"
#include "kernels/target.h"
#include "kernels/target_set.h"

namespace mlafuzz {
namespace {

std::string TargetName() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&mlafuzz_target), &info) == 0) return "";
  std::string name = info.dli_fname;
  name = name.substr(name.rfind('/') + 1);
  return absl::StrReplaceAll(absl::StripSuffix(name, ".so"), {{"@", ":"}});
}

// Null if no target has that name.
const TargetSet* Targets() {
  static const auto* const targets =
      new absl::StatusOr<TargetSet>(MakeTargetSet(TargetName()));
  return targets->ok() ? &**targets : nullptr;
}

int32_t Answer(const MlafuzzCall* call, const CallResult& result) {
  if (call->message_size > 0) {
    const std::size_t size =
        std::min(result.message.size(), call->message_size - 1);
    std::memcpy(call->message, result.message.data(), size);
    call->message[size] = 0;
  }
  switch (result.status) {
    case CallStatus::kOk:
      return MLAFUZZ_OK;
    case CallStatus::kRefused:
      return MLAFUZZ_REFUSED;
    default:
      return MLAFUZZ_ERROR;
  }
}

Layout LayoutOf(const MlafuzzCall* call) {
  return static_cast<Layout>(call->layout);
}

int32_t CallWrite(const MlafuzzCall* call, const MlafuzzWrite* a) {
  return Answer(call, Targets()
                          ->For(Kernel::kWriter)
                          ->Write({LayoutOf(call), a->kv_c, a->k_pe,
                                   a->slot_mapping, a->cache},
                                  LaunchContext()));
}

int32_t CallGather(const MlafuzzCall* call, const MlafuzzGather* a) {
  return Answer(call,
                Targets()
                    ->For(Kernel::kGather)
                    ->Gather({LayoutOf(call), a->cache, a->dst, a->block_table,
                              a->workspace_starts, a->seq_lens, a->seq_starts,
                              a->nope != 0, a->dst_scales},
                             LaunchContext()));
}

int32_t CallConvert(const MlafuzzCall* call, const MlafuzzConvert* a) {
  return Answer(
      call, Targets()
                ->For(Kernel::kConvert)
                ->ConvertIndices({a->page_size, a->request_ids, a->block_table,
                                  a->token_indices, a->out, a->valid_count},
                                 LaunchContext()));
}

int32_t CallDecode(const MlafuzzCall* call, const MlafuzzDecode* a) {
  DecodeArgs args = {LayoutOf(call), a->cache,         a->q,
                     a->indices,     a->lengths,       a->sinks,
                     a->out,         a->lse,           a->softmax_scale,
                     a->splits,      a->declared_topk, a->query_length};
  args.extra_cache = a->extra_cache;
  args.extra_indices = a->extra_indices;
  args.extra_lengths = a->extra_lengths;
  return Answer(call,
                Targets()->For(Kernel::kDecode)->Decode(args, LaunchContext()));
}

// Of the kernel that the target is about: each has a contract of its own.
const std::string& Description() {
  static const auto* const text = [] {
    const TargetSet& targets = *Targets();
    Kernel about = Kernel::kWriter;
    for (const TargetInfo& info : AllTargets()) {
      if (info.name == TargetName() && !info.replaces.empty()) {
        about = info.replaces[0];
      }
    }
    Contract contract = targets.For(about)->contract();
    *contract.mutable_arithmetic() = targets.For(Kernel::kDecode)->arithmetic();
    std::string words;
    google::protobuf::TextFormat::PrintToString(contract, &words);
    return new std::string(
        absl::StrCat("name: '", TargetName(), "' contract { ", words, " }"));
  }();
  return *text;
}

}  // namespace
}  // namespace mlafuzz

extern "C" const MlafuzzTarget* mlafuzz_target(void) {
  using namespace mlafuzz;
  if (Targets() == nullptr) return nullptr;
  const auto has = [](Kernel kernel) {
    Target* target = Targets()->For(kernel);
    return target != nullptr && target->Implements(kernel);
  };
  static const MlafuzzTarget target = {
      sizeof(MlafuzzTarget),
      MLAFUZZ_TARGET_ABI,
      Description().c_str(),
      has(Kernel::kWriter) ? CallWrite : nullptr,
      has(Kernel::kGather) ? CallGather : nullptr,
      has(Kernel::kConvert) ? CallConvert : nullptr,
      has(Kernel::kDecode) ? CallDecode : nullptr};
  return &target;
}
