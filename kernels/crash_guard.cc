#include "kernels/crash_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <array>

#include "kernels/simt/abandon.h"

namespace mlafuzz {
namespace {

constexpr std::array<int, 4> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, kSignals.size()> previous;

// What the handler needs to know of the thread's Run().
struct Guarded {
  bool active = false;
  bool crashed = false;
  Crash crash;
  sigjmp_buf way_out;
};
thread_local constinit Guarded* guarded = nullptr;

// The signal is for somebody else: it comes again, to the old handler, when
// this one returns.
void HandOver(int signal) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous[i], nullptr);
  }
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  Guarded* const g = guarded;
  // Codes up to 0 are signals that were sent, by kill() for one.
  if (g == nullptr || !g->active || info->si_code <= 0) {
    HandOver(signal);
    if (info->si_code <= 0) raise(signal);
    return;
  }
  if (!g->crashed) {
    g->crashed = true;
    g->crash.signal = signal;
    g->crash.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    g->crash.has_address = info->si_code != SI_KERNEL;
  }
  if (simt::AbandonFromSignal(context)) return;
  siglongjmp(g->way_out, 1);
}

void InstallHandlers() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = OnSignal;
  // A lane's stack may be what has overflowed.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &previous[i]);
  }
}

// Gives the thread an alternate stack unless it has one. ASan, which gives its
// threads one, frees what it finds at the thread's end: so ours is from mmap
// or malloc for ever; there is one a thread.
void EnsureAlternateStack() {
  thread_local bool done = false;
  if (done) return;
  done = true;
  stack_t stack;
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0) {
    return;
  }
  constexpr std::size_t kBytes = 64 << 10;
  static thread_local void* memory = malloc(kBytes);
  if (memory == nullptr) return;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace

const char* SignalName(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
  }
  return "signal";
}

std::optional<Crash> CrashGuard::Run(absl::FunctionRef<void()> body) {
  static const bool installed = (InstallHandlers(), true);
  (void)installed;
  EnsureAlternateStack();
  static thread_local Guarded state;
  state.crashed = false;
  guarded = &state;
  // The signal mask is saved with it: in the handler the signal is blocked.
  if (sigsetjmp(state.way_out, 1) == 0) {
    state.active = true;
    body();
  }
  state.active = false;
  if (!state.crashed) return std::nullopt;
  return state.crash;
}

}  // namespace mlafuzz
