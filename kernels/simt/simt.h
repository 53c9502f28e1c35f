// One kernel source, two backends. The only header that kernels include.
//
// nvcc compiles the kernels for the GPU. Any other compiler gets the CUDA
// vocabulary as plain C++, and launch() runs every lane on the calling thread,
// where sanitizers, coverage and debuggers see it:
//
//   template <int kTile>
//   __global__ void Scale(const float* in, float* out) { ... }
//
//   LaunchResult r = simt::launch(
//       {.grid = dim3(4), .block = dim3(96), .schedule = {seed}},
//       Scale<64>, in, out);
//
// How the host backend works. A lane is a fiber while it waits; it runs until
// a barrier or warp intrinsic makes it wait, then the schedule picks the next.
// The last lane to arrive at a warp intrinsic computes everybody's result.
//
// Modelled:
//   threadIdx and friends, blocks of up to 1024 lanes, lanes that exit early;
//   __syncthreads, __syncwarp, shuffles, votes, each with any mask;
//   static __shared__ and SIMT_DYN_SHARED, garbage (0xff) at each block start;
//   misuse of all of these: see FaultKind. No misuse ends the process, except
//   through a sanitizer or a plain crash of the kernel's own code.
//
// Not modelled, and why:
//   preemption: lanes switch only at synchronisation. A lane that spins on a
//     flag hangs (the fuzzer's timeout tells), atomics are trivially atomic;
//   concurrent blocks: they run one after another, since __shared__ variables
//     are statics. So no grid sync, no clusters, no inter-block races;
//   memory order: stores are seen at once. The race detector flavour finds
//     missing barriers on shared memory, nothing finds them on global memory;
//   cp.async, TMA, mbarrier, mma, wgmma: a kernel that needs one wraps it as
//     its own device function with a host body;
//   `extern __shared__`: a static cannot be extern. Use SIMT_DYN_SHARED;
//   <<<...>>>: no C++ compiler parses it. Use launch();
//   ThreadSanitizer (it follows threads' stacks, not fibers) and GCC (it has no
//     tracing, nor section attributes in templates): use clang without TSan;
//   __noinline__ as a macro: the C++ library spells an attribute like that.
//
// Kernel parameters must be trivially copyable, as on the device. A lane must
// not let an exception out, nor wait inside a catch block. In a faulty launch
// waiting lanes are dropped without running destructors: own no heap there.
//
// A program may link both builds of one kernel source if the kernels are in
//   inline namespace SIMT_BACKEND { ... }
// which is `host` or `cuda`; without it equal symbols would be merged.
#ifndef MLAFUZZ_KERNELS_SIMT_SIMT_H_
#define MLAFUZZ_KERNELS_SIMT_SIMT_H_

#include "kernels/simt/launch_types.h"

#if defined(__CUDACC__)
#include "kernels/simt/cuda_backend.h"  // IWYU pragma: export
#else
#include "kernels/simt/host_backend.h"     // IWYU pragma: export
#include "kernels/simt/host_vocabulary.h"  // IWYU pragma: export
#endif

#endif  // MLAFUZZ_KERNELS_SIMT_SIMT_H_
