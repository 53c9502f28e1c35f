#include "kernels/convert.cuh"
#include "kernels/cuda/launch.h"

namespace mlafuzz::cuda {

simt::LaunchResult LaunchConvert(const kernels::ConvertParams& params,
                                 void* stream) {
  return kernels::LaunchConvert<kernels::ConvertPolicy>(
      params, static_cast<simt::Stream>(stream), {});
}

}  // namespace mlafuzz::cuda
