#include "oracle/imagined.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "oracle/decode/decode.h"
#include "oracle/decode/rounding.h"
#include "oracle/expect.h"
#include "oracle/outside_memory.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

// What a decode returns that hits every expected value; 0 where anything goes.
std::vector<std::vector<std::uint8_t>> DecodeOutputs(
    const Contract& contract, const CaseImage& image, int index,
    absl::Span<const std::uint8_t> pool) {
  const StepImage& step = image.steps[static_cast<std::size_t>(index)];
  const DecodeExpectation e = ExpectDecode(contract, image, index, pool);
  std::vector<std::vector<std::uint8_t>> outputs;
  for (const Tensor& t : step.tensors) {
    outputs.push_back(t.output ? t.bytes : std::vector<std::uint8_t>());
    std::vector<std::uint8_t>& bytes = outputs.back();
    const auto store = [&bytes](std::int64_t at, const void* value, int size) {
      std::memcpy(bytes.data() + at, value, static_cast<std::size_t>(size));
    };
    for (std::int64_t row = 0; row < e.rows(); ++row) {
      const std::int64_t first =
          row / e.heads * t.strides[0] + row % e.heads * t.strides[1];
      const std::size_t r = static_cast<std::size_t>(row);
      if (t.id == TensorId::kLse) {
        const float lse =
            std::isinf(e.lse_bound[r]) ? 0.0f : static_cast<float>(e.lse[r]);
        store(4 * first, &lse, 4);
      } else if (t.id == TensorId::kAttention) {
        for (int c = 0; c < kDecodeColumns; ++c) {
          const std::size_t i = r * kDecodeColumns + c;
          const float value =
              std::isinf(e.out_bound[i])
                  ? 0.0f
                  : static_cast<float>(oracle::RoundBf16(e.out[i]));
          std::uint32_t bits;
          std::memcpy(&bits, &value, 4);
          const auto high = static_cast<std::uint16_t>(bits >> 16);
          store(2 * (first + c * t.strides[2]), &high, 2);
        }
      }
    }
  }
  return outputs;
}

}  // namespace

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
    if (step.kernel == Kernel::kDecode) {
      seen.outputs = DecodeOutputs(contract, image, static_cast<int>(i), pool);
      continue;
    }
    const Expectation e = Expect(contract, image, static_cast<int>(i), pool);
    seen.outputs = e.outputs;
    if (!e.unsettled.empty() && step.kernel != Kernel::kWriter) {
      seen.reports.push_back(
          "AddressSanitizer: heap-buffer-overflow: READ of size 4");
    }
    if (e.outside_writes > 0) {
      // Of the rows outside, the first.
      const ByteRange row =
          oracle::OutsideWrites(contract, image.pool, step).front();
      Stray stray = {.first = row.begin, .last = row.end - 1};
      if (step.kernel == Kernel::kGather) {
        stray.tensor = TensorId::kDst;
        stray.last = row.begin + 1151;
      } else if (row.begin < 0) {
        stray.last = std::min<std::int64_t>(stray.last, -1);
      }
      stray.count = stray.last - stray.first + 1;
      seen.strays.push_back(stray);
    }
    if (!e.pool.empty() && e.pool != pool) {
      seen.pool = e.pool;
      pool = e.pool;
    }
  }
  return observation;
}

}  // namespace mlafuzz
