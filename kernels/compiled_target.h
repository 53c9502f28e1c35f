#ifndef MLAFUZZ_KERNELS_COMPILED_TARGET_H_
#define MLAFUZZ_KERNELS_COMPILED_TARGET_H_

#include <string>

#include "kernels/target_set.h"

namespace mlafuzz {

// The kernels of one target that is compiled in; null where it has none of its
// own.
struct CompiledKernels {
  CallResult (*write)(const WriteArgs&, const LaunchContext&) = nullptr;
  CallResult (*gather)(const GatherArgs&, const LaunchContext&) = nullptr;
  CallResult (*convert)(const ConvertArgs&, const LaunchContext&) = nullptr;
  CallResult (*decode)(const DecodeArgs&, const LaunchContext&) = nullptr;
};

struct CompiledTarget {
  const char* name;  // "mutant:nope-stale-tail"
  const char* what;  // one line
  CompiledKernels kernels;
  // The scales are 2^ceil(.), and the contract says so.
  bool pow2_scale = false;
  // What it promises, arithmetic included; null: what builtin does.
  Contract (*contract)() = nullptr;
  // The target that stands in for kernels that it lacks, where that has them;
  // else it is builtin.
  const char* rest = "builtin";
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_COMPILED_TARGET_H_
