#include "kernels/simt/abandon.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simt/block_state.h"

namespace mlafuzz::simt {
inline namespace host {
namespace {

// Fail() saves the context it leaves, so it needs some stack to do that on.
alignas(16) unsigned char landing_stack[16 << 10];

void Land() { Fail({.kind = FaultKind::kAbandoned, .what = "a lane crashed"}); }

}  // namespace

bool AbandonFromSignal(void* context) {
  if (!LaneRunsOnThisThread()) return false;
  ucontext_t* const machine = static_cast<ucontext_t*>(context);
  const std::uintptr_t stack =
      reinterpret_cast<std::uintptr_t>(landing_stack + sizeof landing_stack);
#if defined(__x86_64__)
  // As after a call: the return address would lie at a multiple of 16 less 8.
  machine->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack - 8);
  machine->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&Land);
  constexpr greg_t kDirectionFlag = 0x400;
  machine->uc_mcontext.gregs[REG_EFL] &= ~kDirectionFlag;
  return true;
#elif defined(__aarch64__)
  machine->uc_mcontext.sp = stack;
  machine->uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&Land);
  return true;
#else
  (void)machine;
  (void)stack;
  return false;
#endif
}

}  // namespace host
}  // namespace mlafuzz::simt
