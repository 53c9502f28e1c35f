#ifndef MLAFUZZ_KERNELS_DECODE_DECODE_CUDA_H_
#define MLAFUZZ_KERNELS_DECODE_DECODE_CUDA_H_

#include "kernels/decode/options.h"
#include "kernels/decode/params.h"
#include "kernels/simt/launch_types.h"

namespace mlafuzz {

// The kernels of RunDecode() on the current GPU, on `stream` (a cudaStream_t).
// `params` hold device pointers, room for the partials included, and at least
// one query. Asynchronous: what a kernel does wrong comes out of the next
// synchronisation. `lanes`, `splits` and the rules are set from the options and
// `asked_splits`.
simt::LaunchResult LaunchDecodeOnGpu(kernels::DecodeParams params,
                                     std::int64_t asked_splits,
                                     const DecodeOptions& options,
                                     void* stream);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_DECODE_CUDA_H_
