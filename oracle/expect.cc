#include "oracle/expect.h"

#include "oracle/expect_parts.h"

namespace mlafuzz {

Expectation Expect(const Contract& contract, const CaseImage& image, int step,
                   absl::Span<const std::uint8_t> pool_before) {
  Expectation result;
  const StepImage& s = image.steps[static_cast<std::size_t>(step)];
  result.outputs.resize(s.tensors.size());
  if (s.is_patch) return result;
  switch (s.kernel) {
    case Kernel::kWriter:
      oracle::ExpectWrite(contract.writer(), image.pool, s, pool_before,
                          &result);
      break;
    case Kernel::kGather:
      oracle::ExpectGather(contract.gather(), image.pool, s, pool_before,
                           &result);
      break;
    case Kernel::kConvert:
      oracle::ExpectConvert(contract.convert(), image.pool, s, &result);
      break;
    case Kernel::kDecode:
      break;
  }
  // An output that no rule touches keeps what it held.
  for (std::size_t i = 0; i < s.tensors.size(); ++i) {
    if (s.tensors[i].output && result.outputs[i].empty()) {
      result.outputs[i] = s.tensors[i].bytes;
    }
  }
  return result;
}

}  // namespace mlafuzz
