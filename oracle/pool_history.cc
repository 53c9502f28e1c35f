#include "oracle/pool_history.h"

#include <cstring>
#include <utility>

namespace mlafuzz::oracle {

PoolHistory::PoolHistory(const CaseImage& image, const Observation& observation)
    : image_(&image), observation_(&observation), before_(image.pool.bytes) {
  Look();
}

PoolHistory PoolHistory::Before(const CaseImage& image,
                                const Observation& observation, int step) {
  PoolHistory history(image, observation);
  for (int i = 0; i < step; ++i) history.Advance();
  return history;
}

void PoolHistory::Advance() {
  // A patched pool is kept while it is the one before the next step; spans
  // follow the moved buffers.
  if (!after_.empty() && after_.data() == patched_[0].data()) {
    std::swap(patched_[0], patched_[1]);
  }
  before_ = after_;
  ++step_;
  Look();
}

void PoolHistory::Look() {
  after_ = before_;
  patch_lost_ = false;
  if (step_ >= image_->steps.size()) return;
  const StepImage& step = image_->steps[step_];
  const StepObservation* observed = step_ < observation_->steps.size()
                                        ? &observation_->steps[step_]
                                        : nullptr;
  const bool seen = observed != nullptr && observed->pool.has_value() &&
                    observed->pool->size() == before_.size();
  if (step.is_patch && step.step != nullptr) {
    const Patch& patch = step.step->patch();
    std::vector<std::uint8_t>& pool = patched_[0];
    pool.assign(before_.begin(), before_.end());
    ApplyPatch(patch, image_->pool, pool.data());
    after_ = pool;
    patch_lost_ = seen && *observed->pool != pool;
  }
  if (seen) after_ = *observed->pool;
}

}  // namespace mlafuzz::oracle
