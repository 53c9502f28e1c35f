#ifndef MLAFUZZ_PROPERTIES_FUSED_POOLS_ON_DEVICE_H_
#define MLAFUZZ_PROPERTIES_FUSED_POOLS_ON_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/foreign/lent_memory.h"
#include "properties/fused/fill_call.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_layout.h"

namespace mlafuzz {

// Pools of a call's members, filled on the device as their cases say: most of a
// call's bytes, which so need not be laid, nor travel. Members are as
// BuildImage() made them.
class PoolsOnDevice {
 public:
  // All must outlive it.
  PoolsOnDevice(const FusedCase& fused, const LentLayout& layout,
                LentMemory& memory, std::uint64_t& copied_bytes);

  // As in StepReference: of LentMemory::Rows(), where, and of which member.
  std::uint64_t plan_bytes() const { return call_.plan_bytes(); }
  void PlanAt(std::uint8_t* rows, std::uint64_t offset);
  void Plan(std::size_t m);

  // Begins to fill the pools of the reference.
  absl::Status Begin();

 private:
  const FusedCase& fused_;
  const LentLayout& layout_;
  LentMemory& memory_;
  std::uint64_t& copied_bytes_;
  FillCall call_ = {};
  // Of each member, its first patch, and that one's first byte.
  struct First {
    std::uint64_t patch;
    std::uint64_t byte;
  };
  std::vector<First> firsts_;
  std::uint8_t* rows_ = nullptr;
  std::uint64_t offset_ = 0;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_POOLS_ON_DEVICE_H_
