#include "kernels/cuda/launch.h"
#include "kernels/gather.cuh"

namespace mlafuzz::cuda {

simt::LaunchResult LaunchGather(const kernels::GatherParams& params,
                                void* stream) {
  return kernels::LaunchGather<kernels::GatherPolicy>(
      params, static_cast<simt::Stream>(stream), {});
}

}  // namespace mlafuzz::cuda
