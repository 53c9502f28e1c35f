#ifndef MLAFUZZ_KERNELS_DEVICE_PLAIN_MEMORY_H_
#define MLAFUZZ_KERNELS_DEVICE_PLAIN_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/foreign/call_memory.h"

namespace mlafuzz::device {

// Calls on a GPU whose buffers are each a cudaMalloc of its own, which is what
// compute-sanitizer knows the bounds of; scratch is left as it comes, so that
// it sees reads of bytes that nobody has written. Slow.
class PlainMemory : public wire::CallMemory {
 public:
  // On GPU number `device`, which is then current.
  static std::unique_ptr<PlainMemory> Create(int device, std::string* why);

  std::string device() const override { return device_; }
  bool Place(const wire::Call& call, std::uint64_t scratch_bytes, char* arena,
             wire::CallTensors& tensors, std::string* why) override;
  bool Lost(std::string* why) override;
  void* stream() override { return stream_; }
  DLTensor* scratch() override {
    return scratch_shape_ == 0 ? nullptr : &scratch_;
  }
  void* TakeScratch(std::size_t bytes) override;
  bool Settle(char* arena, wire::CallTensors& tensors, bool last,
              std::vector<wire::Stray>* strays, std::string* why) override;

 private:
  PlainMemory() = default;
  // Of the call at hand; null if there is none left.
  char* Allocate(std::size_t bytes);
  void FreeAll();

  std::string device_;
  int number_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> allocations_;
  std::vector<char*> buffers_;  // of the tensors, then of no use
  std::int64_t scratch_shape_ = 0;
  std::int64_t scratch_stride_ = 1;
  DLTensor scratch_ = {};
};

}  // namespace mlafuzz::device

#endif  // MLAFUZZ_KERNELS_DEVICE_PLAIN_MEMORY_H_
