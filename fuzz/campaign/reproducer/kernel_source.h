#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_KERNEL_SOURCE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// The kernels of a target that is compiled in ("builtin", "mutant:NAME") as
// text for nvcc that needs none of this project's files: its source with all
// that it includes, and mlafuzz_target() on top. Declarations of
// kernels/target.h and of DLPack have to stand before it.
//
// Of a target whose decode has a source apart from its other kernels
// ("builtin") `decode` says which is wanted. NotFound for a name that no source
// has.
absl::StatusOr<std::string> KernelSource(absl::string_view target,
                                         std::uint64_t schedule, bool decode);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPRODUCER_KERNEL_SOURCE_H_
