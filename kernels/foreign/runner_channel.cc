#include "kernels/foreign/runner_channel.h"

#include <errno.h>
#include <unistd.h>

#include <cstdlib>

namespace mlafuzz::wire {
namespace {

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

}  // namespace

bool leave_at_once = true;

void Leave() {
  if (!leave_at_once) std::exit(0);
  _exit(0);
}

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

void Send(Type type, const std::string& payload) {
  Frame frame;
  frame.type = type;
  frame.length = payload.size();
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes += payload;
  WriteAll(bytes.data(), bytes.size());
}

}  // namespace mlafuzz::wire
