#ifndef MLAFUZZ_KERNELS_CUDA_LAUNCH_H_
#define MLAFUZZ_KERNELS_CUDA_LAUNCH_H_

#include "kernels/params.h"
#include "kernels/simt/launch_types.h"

namespace mlafuzz::cuda {

// Builtin's kernels on a GPU. All pointers are device pointers; `stream` is a
// cudaStream_t. Arguments have passed the host checks, and there is something
// to do (at least one token or row). Asynchronous: ok means that the launch
// was accepted; what a kernel does wrong comes out of Synchronize().
simt::LaunchResult LaunchWriter(const kernels::WriterParams& params,
                                void* stream);
simt::LaunchResult LaunchGather(const kernels::GatherParams& params,
                                void* stream);
simt::LaunchResult LaunchConvert(const kernels::ConvertParams& params,
                                 void* stream);

simt::LaunchResult Synchronize(void* stream);

}  // namespace mlafuzz::cuda

#endif  // MLAFUZZ_KERNELS_CUDA_LAUNCH_H_
