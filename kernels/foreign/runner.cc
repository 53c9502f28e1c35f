// The process in which a foreign target runs: loads one shared library and
// makes the calls that it is asked to. Plain C++ without the project's other
// libraries, so that a target meets nothing of the harness in its process.
// Protocol: kernels/foreign/wire.h.
//
//   runner PATH.so

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/foreign/wire.h"
#include "kernels/target.h"

namespace mlafuzz::wire {
namespace {

// Only ends of the harness can be wrong here: nobody is left to tell.
[[noreturn]] void Leave() { _exit(0); }

void ReadAll(void* to, std::size_t size) {
  auto* p = static_cast<char*>(to);
  while (size != 0) {
    const ssize_t n = read(kSocketFd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Leave();
    p += n;
    size -= static_cast<std::size_t>(n);
  }
}

void WriteAll(const void* from, std::size_t size) {
  const auto* p = static_cast<const char*>(from);
  while (size != 0) {
    const ssize_t n = write(kSocketFd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EBADF) _exit(kExitDescriptorsClosed);
    if (n <= 0) Leave();
    p += n;
    size -= static_cast<std::size_t>(n);
  }
}

void Send(Type type, const std::string& payload) {
  Frame frame;
  frame.type = type;
  frame.length = payload.size();
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes += payload;
  WriteAll(bytes.data(), bytes.size());
}

template <typename T>
void Append(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

volatile Control* control = nullptr;

// Leaves a note where the fault was, then dies of it.
void OnFault(int signal, siginfo_t* info, void*) {
  control->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  control->code = static_cast<std::uint64_t>(info->si_code);
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  // On return the instruction faults again; one that was sent does not.
  if (info->si_code <= 0) raise(signal);
}

void InstallFaultHandlers() {
  static char stack[64 << 10];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    sigaction(signal, &action, nullptr);
  }
}

// A function of the structure, null where the library's header had none.
template <typename F>
F Member(const MlafuzzTarget& target, F MlafuzzTarget::* member) {
  const auto offset = reinterpret_cast<const char*>(&(target.*member)) -
                      reinterpret_cast<const char*>(&target);
  const auto end = static_cast<std::size_t>(offset) + sizeof(F);
  return target.struct_size >= end ? target.*member : nullptr;
}

class Runner {
 public:
  // Says Hello, or what went wrong.
  bool Load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Fail(dlerror());
    const auto get = reinterpret_cast<const MlafuzzTarget* (*)()>(
        dlsym(library, "mlafuzz_target"));
    if (get == nullptr) {
      return Fail(std::string(path) +
                  " exports no function mlafuzz_target; in C++ it must be "
                  "extern \"C\"");
    }
    target_ = get();
    if (target_ == nullptr) return Fail("mlafuzz_target() returned null");
    constexpr std::size_t kSmallest = offsetof(MlafuzzTarget, write);
    if (target_->struct_size < kSmallest || target_->struct_size > 65536) {
      return Fail("struct_size of its MlafuzzTarget is " +
                  std::to_string(target_->struct_size) +
                  "; set it to sizeof(MlafuzzTarget)");
    }
    if (target_->abi != MLAFUZZ_TARGET_ABI) {
      return Fail("it was built for version " + std::to_string(target_->abi) +
                  " of the interface, this harness speaks version " +
                  std::to_string(MLAFUZZ_TARGET_ABI));
    }
    Hello hello;
    hello.abi = target_->abi;
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.implements =
        (Member(*target_, &MlafuzzTarget::write) != nullptr ? 1u : 0u) |
        (Member(*target_, &MlafuzzTarget::gather) != nullptr ? 2u : 0u) |
        (Member(*target_, &MlafuzzTarget::convert) != nullptr ? 4u : 0u) |
        (Member(*target_, &MlafuzzTarget::decode) != nullptr ? 8u : 0u);
    const std::string description =
        target_->description == nullptr ? "" : target_->description;
    hello.description_length = static_cast<std::uint32_t>(description.size());
    std::string payload;
    Append(hello, payload);
    Send(Type::kHello, payload + description);
    return true;
  }

  // One batch.
  void Serve() {
    Frame frame;
    ReadAll(&frame, sizeof frame);
    if (frame.magic != kMagic || frame.version != kVersion ||
        frame.type != Type::kRun || frame.length < sizeof(Run)) {
      Leave();
    }
    request_.resize(frame.length);
    ReadAll(request_.data(), request_.size());
    at_ = 0;
    const Run run = Next<Run>();
    Map(run);
    scratch_.resize(run.scratch_bytes);
    std::string reply;
    control->started = 0;
    for (std::uint32_t i = 0; i < run.calls; ++i) {
      control->started = i + 1;
      message_[0] = '\0';
      Result result;
      result.status = MakeCall();
      result.message_length =
          static_cast<std::uint32_t>(strnlen(message_, sizeof message_ - 1));
      Append(result, reply);
      reply.append(message_, result.message_length);
    }
    // What the target printed is to be seen before the answer.
    std::fflush(stdout);
    Send(Type::kDone, reply);
  }

 private:
  bool Fail(const std::string& why) {
    Send(Type::kLoadFailed, why);
    return false;
  }

  template <typename T>
  T Next() {
    T value;
    if (request_.size() - at_ < sizeof value) Leave();
    std::memcpy(&value, request_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  // The arena amid inaccessible space; the same bytes as the harness'.
  void Map(const Run& run) {
    if (arena_ == nullptr) {
      void* all = mmap(nullptr, run.capacity + 2 * run.side, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (all == MAP_FAILED) Leave();
      arena_ = static_cast<char*>(all) + run.side;
      if (mmap(arena_, run.capacity, PROT_NONE, MAP_SHARED | MAP_FIXED,
               kArenaFd, 0) == MAP_FAILED) {
        _exit(kExitDescriptorsClosed);
      }
      low_ = run.capacity;
      control->arena = reinterpret_cast<std::uintptr_t>(arena_);
    }
    if (run.low < low_) {
      mprotect(arena_ + run.low, low_ - run.low, PROT_READ | PROT_WRITE);
    } else if (run.low > low_) {
      mprotect(arena_ + low_, run.low - low_, PROT_NONE);
    }
    low_ = run.low;
  }

  DLTensor* Find(std::uint32_t id) {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == id) return &tensors_[i];
    }
    return nullptr;
  }

  std::int32_t MakeCall() {
    const Call call = Next<Call>();
    ids_.clear();
    wire_.clear();
    for (std::uint32_t i = 0; i < call.tensors; ++i) {
      wire_.push_back(Next<Tensor>());
    }
    tensors_.resize(wire_.size());
    for (std::size_t i = 0; i < wire_.size(); ++i) {
      Tensor& t = wire_[i];
      ids_.push_back(t.id);
      tensors_[i] = {
          arena_ + t.offset, {kDLCPU, 0},      t.ndim, {t.code, t.bits, 1},
          t.shape.data(),    t.strides.data(), 0};
    }
    std::int64_t scratch_size = static_cast<std::int64_t>(scratch_.size());
    std::int64_t scratch_stride = 1;
    DLTensor scratch = {scratch_.data(), {kDLCPU, 0},     1, {kDLUInt, 8, 1},
                        &scratch_size,   &scratch_stride, 0};
    MlafuzzCall common = {};
    common.struct_size = sizeof common;
    common.layout = call.layout;
    common.scratch = scratch_.empty() ? nullptr : &scratch;
    common.message = message_;
    common.message_size = sizeof message_;
    return Dispatch(call, common);
  }

  std::int32_t Dispatch(const Call& call, const MlafuzzCall& common);

  const MlafuzzTarget* target_ = nullptr;
  std::vector<char> request_;
  std::size_t at_ = 0;
  char* arena_ = nullptr;
  std::uint64_t low_ = 0;
  std::vector<char> scratch_;
  std::vector<std::uint32_t> ids_;
  std::vector<Tensor> wire_;
  std::vector<DLTensor> tensors_;
  char message_[kMaxMessage];
};

// Numbers of corpus/image.h's Kernel and TensorId, in their order.
enum : std::uint32_t { kWriter, kGather, kConvert, kDecode };
enum : std::uint32_t {
  kKvC,
  kKPe,
  kSlotMapping,
  kDst,
  kBlockTable,
  kWorkspaceStarts,
  kSeqLens,
  kSeqStarts,
  kRequestIds,
  kTokenIndices,
  kOut,
  kValidCount,
  kQ,
  kIndices,
  kLengths,
  kSinks,
  kAttention,
  kLse
};

std::int32_t Runner::Dispatch(const Call& call, const MlafuzzCall& common) {
  switch (call.kernel) {
    case kWriter: {
      const auto write = Member(*target_, &MlafuzzTarget::write);
      if (write == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzWrite args = {};
      args.struct_size = sizeof args;
      args.kv_c = Find(kKvC);
      args.k_pe = Find(kKPe);
      args.slot_mapping = Find(kSlotMapping);
      args.cache = Find(kCache);
      return write(&common, &args);
    }
    case kGather: {
      const auto gather = Member(*target_, &MlafuzzTarget::gather);
      if (gather == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzGather args = {};
      args.struct_size = sizeof args;
      args.nope = call.nope;
      args.cache = Find(kCache);
      args.dst = Find(kDst);
      args.block_table = Find(kBlockTable);
      args.workspace_starts = Find(kWorkspaceStarts);
      args.seq_lens = Find(kSeqLens);
      args.seq_starts = Find(kSeqStarts);
      return gather(&common, &args);
    }
    case kConvert: {
      const auto convert = Member(*target_, &MlafuzzTarget::convert);
      if (convert == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzConvert args = {};
      args.struct_size = sizeof args;
      args.page_size = call.page_size;
      args.request_ids = Find(kRequestIds);
      args.block_table = Find(kBlockTable);
      args.token_indices = Find(kTokenIndices);
      args.out = Find(kOut);
      args.valid_count = Find(kValidCount);
      return convert(&common, &args);
    }
    case kDecode: {
      const auto decode = Member(*target_, &MlafuzzTarget::decode);
      if (decode == nullptr) return MLAFUZZ_NOT_IMPLEMENTED;
      MlafuzzDecode args = {};
      args.struct_size = sizeof args;
      args.softmax_scale = call.softmax_scale;
      args.splits = call.splits;
      args.declared_topk = call.declared_topk;
      args.query_length = call.query_length;
      args.cache = Find(kCache);
      args.q = Find(kQ);
      args.indices = Find(kIndices);
      args.lengths = Find(kLengths);
      args.sinks = Find(kSinks);
      args.out = Find(kAttention);
      args.lse = Find(kLse);
      return decode(&common, &args);
    }
    default:
      return MLAFUZZ_NOT_IMPLEMENTED;
  }
}

}  // namespace
}  // namespace mlafuzz::wire

int main(int argc, char** argv) {
  using namespace mlafuzz::wire;
  if (argc != 2) {
    std::fprintf(stderr, "usage: runner PATH.so (started by mlafuzz)\n");
    return 2;
  }
  // No orphans: dies with the harness.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                    MAP_SHARED, kControlFd, 0);
  if (page == MAP_FAILED) return 2;
  control = static_cast<volatile Control*>(page);
  // Unbuffered output would be slow, lost output worse.
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);
  static Runner runner;
  // Before, for what constructors do; and after, for they may install others.
  InstallFaultHandlers();
  if (!runner.Load(argv[1])) return 0;
  InstallFaultHandlers();
  for (;;) runner.Serve();
}
