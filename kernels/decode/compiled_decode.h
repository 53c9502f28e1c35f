#ifndef MLAFUZZ_KERNELS_DECODE_COMPILED_DECODE_H_
#define MLAFUZZ_KERNELS_DECODE_COMPILED_DECODE_H_

#include "corpus/contract.pb.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// One decode that is compiled in. A wrong twin's contract is that of the right
// kernel it was made from: what it promises and does not keep.
struct CompiledDecode {
  const char* name;  // "builtin:flashmla", "mutant:sink-dropped"
  const char* what;  // one line
  CallResult (*decode)(const DecodeArgs&, const LaunchContext&);
  Contract (*contract)();  // arithmetic included
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_COMPILED_DECODE_H_
