#ifndef MLAFUZZ_KERNELS_FOREIGN_RUNNER_CHANNEL_H_
#define MLAFUZZ_KERNELS_FOREIGN_RUNNER_CHANNEL_H_

#include <cstddef>
#include <string>

#include "kernels/foreign/wire.h"

// A runner's side of the socket. Nothing here fails: when the harness is gone
// nobody is left to tell, and the process ends.
namespace mlafuzz::wire {

// Ends the process: at once, or as a program ends, which tools that watch it
// wait for.
[[noreturn]] void Leave();
extern bool leave_at_once;

void ReadAll(void* to, std::size_t size);

// One frame.
void Send(Type type, const std::string& payload);

template <typename T>
void Append(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_RUNNER_CHANNEL_H_
