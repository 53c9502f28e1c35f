// The process in which kernels run on a GPU: somebody's shared library, or a
// target that is compiled in. Protocol: kernels/foreign/wire.h.
//
//   runner_cuda DEVICE SIDE lib PATH.so
//   runner_cuda DEVICE SIDE builtin NAME
//
// SIDE: where the unmapped memory next to each buffer is, "before", "behind" or
// "schedule" (the case decides); "plain": nowhere, each buffer is an allocation
// of its own, for compute-sanitizer.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "kernels/device/compiled_callee.h"
#include "kernels/device/device_memory.h"
#include "kernels/device/plain_memory.h"
#include "kernels/foreign/library_callee.h"
#include "kernels/foreign/runner_loop.h"

#if __has_feature(address_sanitizer)
// CUDA maps memory where ASan would protect the gap of its shadow.
extern "C" const char* __asan_default_options() {
  return "protect_shadow_gap=0";
}
#endif

int main(int argc, char** argv) {
  using mlafuzz::device::DeviceMemory;
  if (argc != 5 || !mlafuzz::wire::Enter()) {
    std::fprintf(stderr,
                 "usage: runner_cuda DEVICE before|behind|schedule|plain "
                 "lib|builtin NAME (started by mlafuzz)\n");
    return 2;
  }
  const std::string side = argv[2];
  std::string why;
  std::unique_ptr<mlafuzz::wire::CallMemory> memory;
  if (side == "plain") {
    mlafuzz::wire::LeaveThroughExit();
    memory = mlafuzz::device::PlainMemory::Create(std::atoi(argv[1]), &why);
  } else {
    auto guarded = DeviceMemory::Create(
        std::atoi(argv[1]),
        side == "before"   ? DeviceMemory::Side::kBefore
        : side == "behind" ? DeviceMemory::Side::kBehind
                           : DeviceMemory::Side::kBySchedule,
        &why);
    if (const std::uint64_t lent = mlafuzz::wire::LentBytes();
        guarded != nullptr && lent != 0 &&
        !guarded->TakeLent(mlafuzz::wire::kLentFd, lent, &why)) {
      // Calls then bring their own.
      std::fprintf(stderr, "lent memory is not taken: %s\n", why.c_str());
    }
    memory = std::move(guarded);
  }
  if (memory == nullptr) {
    mlafuzz::wire::SayLoadFailed("no GPU to run on: " + why);
    return 0;
  }
  mlafuzz::wire::InstallFaultHandlers();
  const bool is_library = std::string(argv[3]) == "lib";
  const std::unique_ptr<mlafuzz::wire::Callee> callee =
      is_library ? mlafuzz::wire::LoadLibrary(argv[4], &why)
                 : mlafuzz::device::FindCompiled(argv[4], *memory);
  if (callee == nullptr) {
    mlafuzz::wire::SayLoadFailed(
        is_library ? why : std::string(argv[4]) + " has no device variant");
    return 0;
  }
  mlafuzz::wire::ServeCalls(*callee, *memory);
}
