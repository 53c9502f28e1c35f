#ifndef MLAFUZZ_KERNELS_FOREIGN_WIRE_ENCODER_H_
#define MLAFUZZ_KERNELS_FOREIGN_WIRE_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/foreign/wire.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// A target that makes no calls but writes them down for a runner: what
// CallArgs::Call() would hand over becomes one wire::Call with its tensors.
class WireEncoder : public Target {
 public:
  // `base`: the first byte of the arena in which all tensors lie. `lent`: they
  // are in lent memory instead, as far from its first byte as from `base`.
  explicit WireEncoder(const std::uint8_t* base, bool lent = false)
      : base_(base), lent_(lent) {}

  // A tensor's staged bytes.
  struct Buffer {
    std::uint32_t id;  // as wire::Tensor
    const std::uint8_t* data;
    std::size_t size;  // bytes
  };
  // Before each call: the buffers of all its tensors.
  void NextCall(std::vector<Buffer> buffers) { buffers_ = std::move(buffers); }

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return contract_; }
  const Arithmetic& arithmetic() const override {
    return contract_.arithmetic();
  }
  bool Implements(Kernel) const override { return true; }

  CallResult Write(const WriteArgs& args,
                   const LaunchContext& context) override;
  CallResult Gather(const GatherArgs& args,
                    const LaunchContext& context) override;
  CallResult ConvertIndices(const ConvertArgs& args,
                            const LaunchContext& context) override;
  CallResult Decode(const DecodeArgs& args,
                    const LaunchContext& context) override;

  // What was written down so far.
  std::uint32_t calls() const { return calls_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void Add(std::uint32_t id, const DLTensor* tensor);
  void Add(TensorId id, const DLTensor* tensor) {
    Add(static_cast<std::uint32_t>(id), tensor);
  }
  // Puts the call in front of its tensors.
  CallResult End(Kernel kernel, const LaunchContext& context, wire::Call call);

  const std::uint8_t* base_;
  const bool lent_;
  std::string name_ = "wire";
  Contract contract_;
  std::uint32_t calls_ = 0;
  std::string bytes_;
  std::vector<Buffer> buffers_;
  std::uint32_t tensor_count_ = 0;
  std::string tensors_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_WIRE_ENCODER_H_
