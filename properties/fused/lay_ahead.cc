#include "properties/fused/lay_ahead.h"

#include <utility>

namespace mlafuzz {

absl::StatusOr<LayAhead::Laid> LayAhead::Take(const FusedCase& fused,
                                              const LentLayout& layout,
                                              int threads) {
  Wait();
  if (std::exchange(next_, 0) == fused.serial()) {
    taken_ = 1 - taken_;
    return Laid{taken_, inputs_};
  }
  auto inputs = memory_.Inputs(layout.used(), taken_);
  if (!inputs.ok()) return inputs.status();
  layout.Lay(*inputs, threads);
  return Laid{taken_, *inputs};
}

absl::Status LayAhead::Begin(const FusedCase& next, LentLayout layout,
                             int threads) {
  Wait();
  next_ = 0;
  // What cannot be lent needs not be laid.
  if (layout.used() > memory_.bytes()) return absl::OkStatus();
  auto inputs = memory_.Inputs(layout.used(), 1 - taken_);
  if (!inputs.ok()) return inputs.status();
  next_ = next.serial();
  inputs_ = *inputs;
  under_way_ =
      std::async(std::launch::async, [layout = std::move(layout), to = inputs_,
                                      threads] { layout.Lay(to, threads); });
  return absl::OkStatus();
}

void LayAhead::Wait() {
  if (under_way_.valid()) under_way_.get();
}

}  // namespace mlafuzz
