// Token numbers become slots by one line of arithmetic, written out here on its
// own; all that names no slot becomes -1.
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

std::int32_t At(const std::vector<std::uint8_t>& bytes, std::int64_t i) {
  std::int32_t value;
  std::memcpy(&value, bytes.data() + 4 * i, 4);
  return value;
}

RC_GTEST_PROP(IndexConversion, IsOneLineOfArithmetic, ()) {
  const Case c =
      *ArbitraryCase({.writer = false, .gather = false, .invalid = false});
  const CaseResult result = Run(c);
  for (std::size_t s = 0; s < result.image.steps.size(); ++s) {
    const StepImage& step = result.image.steps[s];
    if (step.is_patch) continue;
    const StepObservation& seen = result.observation.steps[s];
    RC_ASSERT(seen.status == CallStatus::kOk);
    const Tensor& ids = *step.Find(TensorId::kRequestIds);
    const Tensor& table = *step.Find(TensorId::kBlockTable);
    const Tensor& tokens = *step.Find(TensorId::kTokenIndices);
    const std::int64_t page = result.image.pool.page_size;
    for (std::size_t t = 0; t < step.tensors.size(); ++t) {
      const Tensor& out = step.tensors[t];
      if (!out.output) continue;
      for (std::int64_t row = 0; row < tokens.shape[0]; ++row) {
        std::int32_t valid = 0;
        for (std::int64_t i = 0; i < tokens.shape[1]; ++i) {
          const std::int32_t token =
              At(tokens.bytes, row * tokens.strides[0] + i);
          std::int64_t slot = -1;
          if (token >= 0 && token / page < table.shape[1]) {
            slot = At(table.bytes,
                      At(ids.bytes, row) * table.strides[0] + token / page) *
                       page +
                   token % page;
            ++valid;
          }
          if (out.id == TensorId::kOut) {
            RC_ASSERT(At(seen.outputs[t], row * out.strides[0] + i) == slot);
          }
        }
        if (out.id == TensorId::kValidCount) {
          RC_ASSERT(At(seen.outputs[t], row) == valid);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mlafuzz
