// What a call on lent memory left of which some byte is not as expected.

#include <cstring>

#include "properties/fused/lent_run.h"
#include "properties/fused/scoped_seconds.h"

namespace mlafuzz {

void LentRun::Remember(std::size_t step, Observation* seen) const {
  StepObservation& own = seen->steps.emplace_back();
  const auto& tensors = image_.steps[step].tensors;
  own.outputs.resize(tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (!tensors[t].output) continue;
    auto& bytes = own.outputs[t];
    bytes.resize(fused_.tensor_size(step, t));
    if (IsLooked(step, t)) {
      std::memcpy(bytes.data(), results_ + layout_.tensor(step, t).begin,
                  bytes.size());
      continue;
    }
    fused_.LayGaps(step, t, bytes.data());
    for (std::size_t m = 0; m < size_; ++m) {
      const auto& rows = host_.of(m, step).outputs[t];
      std::memcpy(bytes.data() + fused_.RowsOf(step, t, m).begin, rows.data(),
                  rows.size());
    }
  }
  own.pool.emplace(fused_.pool_size());
  const PoolImage& first = fused_.members()[0]->pool;
  std::memcpy(own.pool->data(), first.bytes.data(),
              static_cast<std::size_t>(first.offset));
  for (std::size_t m = 0; m < size_; ++m) {
    host_.LayPages(m, step, own.pool->data());
  }
}

absl::Status LentRun::Observe(std::size_t step, Observation* seen) {
  ScopedSeconds timer(owner_.times.wait);
  if (absl::Status s = Fetch({0, layout_.used()}); !s.ok()) return s;
  StepObservation& own = seen->steps.emplace_back();
  const auto& tensors = image_.steps[step].tensors;
  own.outputs.resize(tensors.size());
  const Place& pool = layout_.pool();
  own.pool.emplace(results_ + pool.begin, results_ + pool.begin + pool.size);
  // Everything else is an input of the call, another's, or slack.
  std::uint64_t end = 0;
  const auto whole = [&](std::uint64_t until) {
    if (std::memcmp(results_ + end, inputs_ + end, until - end) != 0) {
      own.strays.push_back({});
    }
  };
  for (std::size_t number = 0; number < image_.steps.size(); ++number) {
    for (std::size_t t = 0; t < layout_.tensors(number).size(); ++t) {
      if (number > step || !image_.steps[number].tensors[t].output) continue;
      const Place& place = layout_.tensor(number, t);
      whole(place.begin);
      end = place.begin + place.size;
      if (number == step) {
        own.outputs[t].assign(results_ + place.begin, results_ + end);
      }
    }
  }
  whole(pool.begin);
  end = pool.begin + pool.size;
  whole(layout_.used());
  return absl::OkStatus();
}

}  // namespace mlafuzz
