#include "kernels/device/device_name.h"

#include <cuda_runtime_api.h>

#include <fstream>

namespace mlafuzz::device {
namespace {

std::string Version(int number) {
  return std::to_string(number / 1000) + "." +
         std::to_string(number % 1000 / 10);
}

// The kernel module's, which reports and bug trackers go by.
std::string DriverVersion() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  if (file >> version) return version;
  int number = 0;
  (void)cudaDriverGetVersion(&number);
  return "for CUDA " + Version(number);
}

}  // namespace

std::string DeviceName(int device) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return "device " + std::to_string(device);
  }
  int runtime = 0;
  (void)cudaRuntimeGetVersion(&runtime);
  return std::string(properties.name) + " (sm_" +
         std::to_string(properties.major) + std::to_string(properties.minor) +
         "), driver " + DriverVersion() + ", CUDA " + Version(runtime);
}

}  // namespace mlafuzz::device
