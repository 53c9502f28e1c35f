#include "kernels/device/plain_memory.h"

#include <algorithm>

#include "kernels/device/device_name.h"

namespace mlafuzz::device {
namespace {

bool Failed(cudaError_t error, std::string* why) {
  if (error == cudaSuccess) return false;
  *why =
      std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  return true;
}

}  // namespace

std::unique_ptr<PlainMemory> PlainMemory::Create(int device, std::string* why) {
  std::unique_ptr<PlainMemory> memory(new PlainMemory);
  memory->number_ = device;
  if (Failed(cudaSetDevice(device), why) || Failed(cudaFree(nullptr), why) ||
      Failed(cudaStreamCreateWithFlags(&memory->stream_, cudaStreamNonBlocking),
             why)) {
    return nullptr;
  }
  memory->device_ = DeviceName(device);
  return memory;
}

char* PlainMemory::Allocate(std::size_t bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, std::max(bytes, std::size_t{1})) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  allocations_.push_back(data);
  return static_cast<char*>(data);
}

void PlainMemory::FreeAll() {
  for (void* data : allocations_) (void)cudaFree(data);
  allocations_.clear();
}

bool PlainMemory::Place(const wire::Call&, std::uint64_t scratch_bytes,
                        char* arena, wire::CallTensors& tensors,
                        std::string* why) {
  FreeAll();
  buffers_.clear();
  tensors.views.resize(tensors.wire.size());
  for (std::size_t i = 0; i < tensors.wire.size(); ++i) {
    wire::Tensor& t = tensors.wire[i];
    // The residue that the case asks for, in front of the buffer. CUDA's
    // allocations are aligned to 256 bytes.
    const std::uint64_t residue = t.begin % 256;
    char* const buffer = Allocate(residue + t.size);
    if (buffer == nullptr) {
      *why = "device memory: " + std::to_string(t.size >> 20) +
             " MiB asked for in vain";
      return false;
    }
    buffers_.push_back(buffer + residue);
    if (t.size != 0 && Failed(cudaMemcpy(buffers_.back(), arena + t.begin,
                                         t.size, cudaMemcpyHostToDevice),
                              why)) {
      return false;
    }
    tensors.views[i] = {buffers_.back() + (t.offset - t.begin),
                        {kDLCUDA, number_},
                        t.ndim,
                        {t.code, t.bits, 1},
                        t.shape.data(),
                        t.strides.data(),
                        0};
  }
  scratch_shape_ = static_cast<std::int64_t>(scratch_bytes);
  scratch_ = {Allocate(scratch_bytes), {kDLCUDA, number_}, 1, {kDLUInt, 8, 1},
              &scratch_shape_,         &scratch_stride_,   0};
  return true;
}

bool PlainMemory::Lost(std::string* why) {
  return Failed(cudaDeviceSynchronize(), why);
}

void* PlainMemory::TakeScratch(std::size_t bytes) { return Allocate(bytes); }

bool PlainMemory::Settle(char* arena, wire::CallTensors& tensors, bool,
                         std::vector<wire::Stray>*, std::string* why) {
  (void)cudaGetLastError();
  if (Failed(cudaDeviceSynchronize(), why)) return false;
  for (std::size_t i = 0; i < tensors.wire.size(); ++i) {
    const wire::Tensor& t = tensors.wire[i];
    if (t.size != 0 && Failed(cudaMemcpy(arena + t.begin, buffers_[i], t.size,
                                         cudaMemcpyDeviceToHost),
                              why)) {
      return false;
    }
  }
  return true;
}

}  // namespace mlafuzz::device
