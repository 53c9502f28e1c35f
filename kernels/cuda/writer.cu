#include "kernels/cuda/launch.h"
#include "kernels/writer.cuh"

namespace mlafuzz::cuda {

simt::LaunchResult LaunchWriter(const kernels::WriterParams& params,
                                void* stream) {
  return kernels::LaunchWriter<kernels::WriterPolicy>(
      params, static_cast<simt::Stream>(stream), {});
}

simt::LaunchResult Synchronize(void* stream) {
  return simt::synchronize(static_cast<simt::Stream>(stream));
}

}  // namespace mlafuzz::cuda
