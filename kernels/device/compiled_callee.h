#ifndef MLAFUZZ_KERNELS_DEVICE_COMPILED_CALLEE_H_
#define MLAFUZZ_KERNELS_DEVICE_COMPILED_CALLEE_H_

#include <memory>
#include <string>

#include "kernels/foreign/call_memory.h"
#include "kernels/foreign/callee.h"

namespace mlafuzz::device {

// The device variant of a target that is compiled in. Takes its scratch memory
// from `memory`, which must outlive it. Null if there is none of this name.
std::unique_ptr<wire::Callee> FindCompiled(const std::string& name,
                                           wire::CallMemory& memory);

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_COMPILED_CALLEE_H_
