#include "oracle/imagined.h"

#include <vector>

#include "oracle/expect.h"
#include "oracle/validity.h"

namespace mlafuzz {

Observation Imagine(const Contract& contract, const CaseImage& image) {
  Observation observation;
  std::vector<std::uint8_t> pool = image.pool.bytes;
  for (std::size_t i = 0; i < image.steps.size(); ++i) {
    const StepImage& step = image.steps[i];
    StepObservation& seen = observation.steps.emplace_back();
    if (step.is_patch) {
      PoolImage patched = image.pool;
      patched.bytes = pool;
      ApplyPatch(step.step->patch(), patched);
      if (patched.bytes != pool) seen.pool = patched.bytes;
      pool = patched.bytes;
      continue;
    }
    if (step.kernel == Kernel::kDecode) {
      seen.status = CallStatus::kNotImplemented;
      continue;
    }
    const StepValidity validity =
        Classify(contract, image, static_cast<int>(i));
    if (validity.validity == Validity::kInvalid) {
      seen.status = CallStatus::kRefused;
      seen.message = validity.reason;
      for (const Tensor& t : step.tensors) {
        seen.outputs.push_back(t.output ? t.bytes
                                        : std::vector<std::uint8_t>());
      }
      continue;
    }
    const Expectation e = Expect(contract, image, static_cast<int>(i), pool);
    seen.outputs = e.outputs;
    if (e.outside_writes > 0) {
      seen.strays.push_back({.first = -656, .last = -1, .count = 656});
    }
    if (!e.pool.empty() && e.pool != pool) {
      seen.pool = e.pool;
      pool = e.pool;
    }
  }
  return observation;
}

}  // namespace mlafuzz
