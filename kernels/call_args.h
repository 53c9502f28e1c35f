#ifndef MLAFUZZ_KERNELS_CALL_ARGS_H_
#define MLAFUZZ_KERNELS_CALL_ARGS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "corpus/image.h"
#include "dlpack/dlpack.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// The DLPack views of one step's tensors, on memory that the caller has staged
// (tensors[i] of the step at data[i], page 0 of the pool at `cache`), and the
// call that the step stands for. Rows of the cache travel as uint8.
class CallArgs {
 public:
  CallArgs(const PoolImage& pool, std::uint8_t* cache, const StepImage& step,
           absl::Span<std::uint8_t* const> data, DLDevice device);
  CallArgs(const CallArgs&) = delete;
  CallArgs& operator=(const CallArgs&) = delete;

  // Makes the call. `target` null, or without the kernel: NotImplemented.
  CallResult Call(Target* target, const LaunchContext& context) const;

 private:
  struct View {
    DLTensor tensor;
    std::array<std::int64_t, 3> shape;
    std::array<std::int64_t, 3> strides;
  };

  // nullptr where the step has no such tensor.
  const DLTensor* Find(TensorId id) const;

  const PoolImage& pool_;
  const StepImage& step_;
  View cache_;
  std::vector<View> views_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_CALL_ARGS_H_
