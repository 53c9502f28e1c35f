#ifndef MLAFUZZ_PROPERTIES_FUSED_DECODE_TELLING_H_
#define MLAFUZZ_PROPERTIES_FUSED_DECODE_TELLING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "oracle/decode/decode_within.h"
#include "oracle/device/decode_plan.h"
#include "oracle/device/decode_rules.h"
#include "properties/fused/step_reference.h"

namespace mlafuzz {

// What the device says of the decodes that one step of a shared call made: of
// which members all outputs are within their bounds. It fails none: what it
// does not pass is the host's to judge.
class DecodeTelling {
 public:
  // The most that working out one row may take on the device; members with a
  // row of more are the host's.
  static constexpr std::size_t kMostRoom = std::size_t{16} << 20;

  DecodeTelling(const LentContext& context, std::size_t step,
                const oracle::DecodeRules& rules);

  // What the host has to know of member m; several threads have members of
  // their own each.
  void Plan(std::size_t m);

  // After the call; the reference holds the inputs.
  absl::Status Tell();

  // nullopt: nothing is said.
  std::optional<DecodeWithin> Of(std::size_t m) const { return within_[m]; }
  // Members that the device passed.
  std::size_t count() const { return count_; }

 private:
  // Sixteen-bit elements of tensor number t that are member m's alone.
  std::int64_t OwnElements(std::size_t t, std::size_t m) const;

  const LentContext context_;
  const std::size_t step_;
  oracle::DecodeRules rules_;
  const Contract& contract_;
  std::vector<oracle::DecodePlan> plans_;  // by member; empty: the host's
  std::vector<std::optional<DecodeWithin>> within_;
  std::size_t count_ = 0;
};

// One a step; null of steps that are no decodes, and of those of which the
// device says nothing.
std::vector<std::unique_ptr<DecodeTelling>> MakeTellings(
    const LentContext& context);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_FUSED_DECODE_TELLING_H_
