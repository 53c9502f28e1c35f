#ifndef MLAFUZZ_KERNELS_TARGET_SET_H_
#define MLAFUZZ_KERNELS_TARGET_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"
#include "corpus/image.h"
#include "corpus/observation.h"
#include "dlpack/dlpack.h"

namespace mlafuzz {

// Where and how a call runs. Host backend: `schedule` orders lanes and blocks.
// Device backends: `stream` is a cudaStream_t, and scratch(scratch_owner,
// bytes) gives device memory for the length of the call, aligned to 256 bytes,
// or null if there is not enough.
struct LaunchContext {
  std::uint64_t schedule = 0;
  Launch launch = Launch::kDirect;  // where the call runs in another process
  void* stream = nullptr;
  void* (*scratch)(void* owner, std::size_t bytes) = nullptr;
  void* scratch_owner = nullptr;
};

// The arguments of each call. Tensors are views on guarded memory that the
// harness owns; shapes and strides are true (strides in elements, never null).
// nullptr: the caller gives no such tensor. Cache rows travel as uint8
// [pages, page_size, row_bytes] with the layout's id beside them; where scales
// lie behind all rows of a page, row_bytes counts them too, and only the page
// stride says where things stand.
struct WriteArgs {
  Layout layout;
  const DLTensor* kv_c;          // [rows, codes] bf16, f16 or f32
  const DLTensor* k_pe;          // [rows, pe_dim], same dtype; null: pe_dim 0
  const DLTensor* slot_mapping;  // [tokens] int64
  const DLTensor* cache;
};

struct GatherArgs {
  Layout layout;
  const DLTensor* cache;
  const DLTensor* dst;          // [rows, values] bf16, or codes or bytes uint8
  const DLTensor* block_table;  // [requests, columns] int32
  const DLTensor* workspace_starts;  // [requests] int32, or one more
  const DLTensor* seq_lens;          // [requests] int32 or null
  const DLTensor* seq_starts;        // [requests] int32 or null
  bool nope;                         // the rows carry no rope
  // [rows, tiles] float32, of layouts whose codes are copied; else null.
  const DLTensor* dst_scales = nullptr;
  float tensor_scale = 0;  // of the whole cache; 0: none given
};

struct ConvertArgs {
  std::int64_t page_size;
  const DLTensor* request_ids;    // [tokens] int32
  const DLTensor* block_table;    // [requests, columns] int32
  const DLTensor* token_indices;  // [tokens, width] int32
  const DLTensor* out;            // [tokens, width] int32
  const DLTensor* valid_count;    // [tokens] int32 or null
  // [tokens] int32: the token's prefill request, or -1; and where prefill
  // requests begin in a workspace, [prefill requests] int32. Both or neither.
  const DLTensor* prefill_ids = nullptr;
  const DLTensor* prefill_starts = nullptr;
};

struct DecodeArgs {
  Layout layout;
  const DLTensor* cache;
  const DLTensor* q;        // [queries, heads, 512 + pe_dim] bf16
  const DLTensor* indices;  // [queries, width] int32 pool slots
  const DLTensor* lengths;  // [queries] int32 or null
  const DLTensor* sinks;    // [heads] float32, natural-log units, or null
  const DLTensor* out;      // [queries, heads, 512] bf16
  const DLTensor* lse;      // [queries, heads] float32
  float softmax_scale;
  std::int64_t splits;              // asked for; 0: the kernel's own choice
  std::int64_t declared_topk;       // the model's number; 0: the buffer's width
  std::int64_t query_length;        // queries of one request
  const DLTensor* trace = nullptr;  // float32: kernels/decode/trace.h
  // A second cache, of the same layout; null: none.
  const DLTensor* extra_cache = nullptr;
  const DLTensor* extra_indices =
      nullptr;  // [queries, width] int32 slots of it
  const DLTensor* extra_lengths = nullptr;  // [queries] int32 or null
};

// ok; refused with a message, nothing written; error; fault.
struct CallResult {
  CallStatus status = CallStatus::kOk;
  std::string message;

  static CallResult Ok() { return {}; }
  static CallResult Refused(std::string message) {
    return {CallStatus::kRefused, std::move(message)};
  }
  static CallResult Error(std::string message) {
    return {CallStatus::kError, std::move(message)};
  }
  static CallResult Fault(std::string message) {
    return {CallStatus::kFault, std::move(message)};
  }
  static CallResult NotImplemented() {
    return {CallStatus::kNotImplemented, ""};
  }
};

class ForeignTarget;

// Kernels under test. Calls are synchronous: on return the memory is settled.
// A target implements some of the calls and declares what it promises.
class Target {
 public:
  virtual ~Target() = default;

  virtual const std::string& name() const = 0;
  virtual const Contract& contract() const = 0;
  virtual const Arithmetic& arithmetic() const = 0;
  virtual bool Implements(Kernel kernel) const = 0;
  // Set for a target that runs in a process of its own.
  virtual const ForeignTarget* foreign() const { return nullptr; }

  virtual CallResult Write(const WriteArgs&, const LaunchContext&) {
    return CallResult::NotImplemented();
  }
  virtual CallResult Gather(const GatherArgs&, const LaunchContext&) {
    return CallResult::NotImplemented();
  }
  virtual CallResult ConvertIndices(const ConvertArgs&, const LaunchContext&) {
    return CallResult::NotImplemented();
  }
  virtual CallResult Decode(const DecodeArgs&, const LaunchContext&) {
    return CallResult::NotImplemented();
  }
};

// One target for each kernel. The founding bug was a pair (right writer, right
// reader, wrong option between them), so they may come from different places.
struct TargetSet {
  std::array<std::shared_ptr<Target>, kAllKernels.size()> targets;

  Target* For(Kernel kernel) const {
    return targets[static_cast<std::size_t>(kernel)].get();
  }
};

// One target that is compiled in. What should detect a wrong one stands in
// properties/ledger: kernel bodies know nothing of their judges.
struct TargetInfo {
  std::string name;              // "mutant:nope-stale-tail"
  std::string what;              // one line
  std::vector<Kernel> replaces;  // the kernels that are not builtin's
};

// All targets compiled into this binary, builtin first.
const std::vector<TargetInfo>& AllTargets();

// "cuda:NAME" is the target NAME on a GPU.
inline constexpr absl::string_view kOnDevice = "cuda:";
inline bool IsOnDevice(absl::string_view name) {
  return name.substr(0, kOnDevice.size()) == kOnDevice;
}
// NAME of "cuda:NAME" and of "NAME".
inline absl::string_view WithoutDevice(absl::string_view name) {
  return IsOnDevice(name) ? name.substr(kOnDevice.size()) : name;
}

// "python:MODULE[:NAME]" are kernels in Python.
inline constexpr absl::string_view kPythonTarget = "python:";
inline bool IsPython(absl::string_view name) {
  return WithoutDevice(name).substr(0, kPythonTarget.size()) == kPythonTarget;
}
// Whether a target of this name is somebody's library or module.
inline bool IsForeign(absl::string_view name) {
  return WithoutDevice(name).substr(0, 4) == "lib:" || IsPython(name);
}
// Whether it runs in a process of its own.
inline bool RunsApart(absl::string_view name) {
  return IsOnDevice(name) || IsForeign(name);
}

// "builtin", "builtin:pow2", "mutant:NAME", "lib:PATH.so",
// "python:MODULE[:NAME]". NotFound names the
// nearest known one. A mutant takes the kernels that it replaces; the rest are
// builtin. A library or module has every kernel; calls of those that it does
// not implement are skipped. InvalidArgument for one that cannot be attached.
// "cuda:" in front of any of them has it run on DefaultCudaBackend() of
// kernels/foreign/foreign_target.h.
absl::StatusOr<TargetSet> MakeTargetSet(absl::string_view name);
// `all` sets every kernel; a non-empty writer, gather, convert or decode
// overrides one.
absl::StatusOr<TargetSet> MakeTargetSet(absl::string_view all,
                                        absl::string_view writer,
                                        absl::string_view gather,
                                        absl::string_view convert,
                                        absl::string_view decode);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_TARGET_SET_H_
