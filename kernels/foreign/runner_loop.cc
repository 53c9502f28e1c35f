#include "kernels/foreign/runner_loop.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "kernels/foreign/runner_channel.h"
#include "kernels/foreign/wire.h"
#include "kernels/target.h"

namespace mlafuzz::wire {
namespace {

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

class Runner {
 public:
  Runner(Callee& callee, CallMemory& memory)
      : callee_(callee), memory_(memory) {}

  void SayHello() {
    const std::string description = callee_.description();
    const std::string device = memory_.device();
    Hello hello;
    hello.abi = callee_.abi();
    hello.implements = callee_.implements();
    hello.description_length = static_cast<std::uint32_t>(description.size());
    hello.device_length = static_cast<std::uint32_t>(device.size());
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.lent = memory_.TakesLentMemory() ? 1 : 0;
    std::string payload;
    Append(hello, payload);
    Send(Type::kHello, payload + description + device);
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
    std::string reply;
    control->started = 0;
    for (std::uint32_t i = 0; i < run.calls; ++i) {
      control->started = i + 1;
      MakeCall(run, i, reply);
    }
    // What the target printed is to be seen before the answer.
    std::fflush(stdout);
    Send(Type::kDone, reply);
  }

 private:
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

  void MakeCall(const Run& run, std::uint32_t number, std::string& reply) {
    const Call call = Next<Call>();
    tensors_.wire.clear();
    for (std::uint32_t i = 0; i < call.tensors; ++i) {
      tensors_.wire.push_back(Next<Tensor>());
    }
    Result result;
    std::string text;
    strays_.clear();
    if (!memory_.Place(call, run.scratch_bytes, arena_, tensors_, &text)) {
      std::string fault;
      if (memory_.Lost(&fault)) DieOf(number, fault);
      result.status = kNoDeviceMemory;
    } else {
      message_[0] = '\0';
      MlafuzzCall common = {};
      common.struct_size = sizeof common;
      common.layout = call.layout;
      common.stream = memory_.stream();
      common.scratch = memory_.scratch();
      common.message = message_;
      common.message_size = sizeof message_;
      if (call.launch == kGraph) {
        result.status = CaptureCall(call, common, &text);
      } else {
        result.status = callee_.MakeCall(call, common, tensors_);
        text.assign(message_, strnlen(message_, sizeof message_ - 1));
      }
      std::string fault;
      if (!memory_.Settle(arena_, tensors_, number + 1 == run.calls, &strays_,
                          &fault)) {
        DieOf(number, fault);
      }
      memory_.Tell(control);
    }
    result.message_length = static_cast<std::uint32_t>(text.size());
    result.strays = static_cast<std::uint32_t>(strays_.size());
    Append(result, reply);
    reply += text;
    for (const Stray& stray : strays_) Append(stray, reply);
  }

  std::int32_t CaptureCall(const Call& call, const MlafuzzCall& common,
                           std::string* text) {
    if (!memory_.BeginCapture(text)) return kNotCaptured;
    const std::int32_t status = callee_.MakeCall(call, common, tensors_);
    std::string why;
    const bool replayed = memory_.Replay(&why);
    text->assign(message_, strnlen(message_, sizeof message_ - 1));
    if (replayed || (status != MLAFUZZ_OK && status != MLAFUZZ_ERROR)) {
      return status;
    }
    *text = why + (text->empty() ? "" : "; " + *text);
    return kNotCaptured;
  }

  [[noreturn]] static void DieOf(std::uint32_t number,
                                 const std::string& what) {
    std::fflush(stdout);
    DeviceFault fault;
    fault.call = number;
    std::string payload;
    Append(fault, payload);
    Send(Type::kDeviceFault, payload + what);
    // Not through destructors: the device answers nobody any more.
    Leave();
  }

  Callee& callee_;
  CallMemory& memory_;
  std::vector<char> request_;
  std::size_t at_ = 0;
  char* arena_ = nullptr;
  std::uint64_t low_ = 0;
  CallTensors tensors_;
  std::vector<Stray> strays_;
  char message_[kMaxMessage];
};

}  // namespace

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

bool Enter() {
  // No orphans: dies with the harness.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                    MAP_SHARED, kControlFd, 0);
  if (page == MAP_FAILED) return false;
  control = static_cast<volatile Control*>(page);
  // Unbuffered output would be slow, lost output worse.
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);
  return true;
}

std::uint64_t LentBytes() { return control->lent; }

void LeaveThroughExit() { leave_at_once = false; }

void SayLoadFailed(const std::string& why) { Send(Type::kLoadFailed, why); }

void ServeCalls(Callee& callee, CallMemory& memory) {
  static Runner runner(callee, memory);
  runner.SayHello();
  InstallFaultHandlers();
  for (;;) runner.Serve();
}

}  // namespace mlafuzz::wire
