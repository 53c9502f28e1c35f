#ifndef MLAFUZZ_KERNELS_DEVICE_DEVICE_NAME_H_
#define MLAFUZZ_KERNELS_DEVICE_DEVICE_NAME_H_

#include <string>

namespace mlafuzz::device {

// "NVIDIA H200 (sm_90), driver 580.65.06, CUDA 13.0", of a device that exists.
std::string DeviceName(int device);

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_DEVICE_NAME_H_
