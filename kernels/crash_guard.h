#ifndef MLAFUZZ_KERNELS_CRASH_GUARD_H_
#define MLAFUZZ_KERNELS_CRASH_GUARD_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"

namespace mlafuzz {

// A signal that would have ended the process.
struct Crash {
  int signal = 0;
  std::uintptr_t address = 0;  // that could not be accessed
  // False where the processor does not tell (a non-canonical address).
  bool has_address = false;
};
// "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL".
const char* SignalName(int signal);

// Runs code that may crash, and survives it. How it works:
//
//   in a lane of the host backend: the handler makes the launch end with
//     FaultKind::kAbandoned, so body() goes on after launch() as after any
//     other fault and the next launch works;
//   elsewhere in body(): the handler jumps out of it. Destructors between are
//     not run; body() should hold nothing that matters.
//
// Catches SIGSEGV, SIGBUS, SIGFPE and SIGILL that the code itself raises on
// this thread, not abort(), nor signals that another process sends. Handlers
// are in place from the first guard on; outside of Run() they hand over to
// those that were there before. Under ASan, run with handle_segv=0,
// handle_sigbus=0, handle_sigfpe=0, handle_sigill=0; under libFuzzer with the
// flags of the same names.
class CrashGuard {
 public:
  // The first crash in body(), nullopt if there was none. Not reentrant.
  static std::optional<Crash> Run(absl::FunctionRef<void()> body);
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_CRASH_GUARD_H_
