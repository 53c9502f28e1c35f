#ifndef MLAFUZZ_FUZZ_WORKER_KERNEL_CALL_H_
#define MLAFUZZ_FUZZ_WORKER_KERNEL_CALL_H_

#include <array>
#include <cstdint>
#include <vector>

#include "corpus/image.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Step 0 of a case as one bare call, on plain heap memory without guards: what
// a kernel costs alone. For the benchmark; nothing is checked.
class KernelCall {
 public:
  // Both must outlive this.
  KernelCall(const TargetSet& targets, const CaseImage& image);
  CallResult Run();

 private:
  struct View {
    std::vector<std::uint8_t> bytes;
    std::array<std::int64_t, 3> shape;
    std::array<std::int64_t, 3> strides;
    DLTensor tensor;
  };
  void Fill(View& view, const Tensor& tensor);
  const DLTensor* Find(TensorId id) const;

  const TargetSet& targets_;
  const CaseImage& image_;
  View pool_;
  std::vector<View> views_;  // one a tensor
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_WORKER_KERNEL_CALL_H_
