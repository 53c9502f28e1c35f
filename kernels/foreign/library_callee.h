#ifndef MLAFUZZ_KERNELS_FOREIGN_LIBRARY_CALLEE_H_
#define MLAFUZZ_KERNELS_FOREIGN_LIBRARY_CALLEE_H_

#include <memory>
#include <string>

#include "kernels/foreign/callee.h"

namespace mlafuzz::wire {

// A shared library with the interface of kernels/target.h. Null, and why, if it
// cannot be loaded.
std::unique_ptr<Callee> LoadLibrary(const char* path, std::string* why);

}  // namespace mlafuzz::wire

#endif  // MLAFUZZ_KERNELS_FOREIGN_LIBRARY_CALLEE_H_
