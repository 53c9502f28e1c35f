#ifndef MLAFUZZ_KERNELS_FOREIGN_RUNNER_LOOP_H_
#define MLAFUZZ_KERNELS_FOREIGN_RUNNER_LOOP_H_

#include <cstdint>
#include <string>

#include "kernels/foreign/call_memory.h"
#include "kernels/foreign/callee.h"

namespace mlafuzz::wire {

// First thing in a runner's main(): false if it was not started by a harness.
bool Enter();

// Bytes of device memory behind kLentFd; 0: none are lent. After Enter().
std::uint64_t LentBytes();

// What crashes from here on leaves a note of where.
void InstallFaultHandlers();

// Has the process end as programs do, for tools that watch it.
void LeaveThroughExit();

// Instead of a Hello.
void SayLoadFailed(const std::string& why);

// Says Hello, then makes the calls of batch after batch. Does not return.
[[noreturn]] void ServeCalls(Callee& callee, CallMemory& memory);

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_RUNNER_LOOP_H_
