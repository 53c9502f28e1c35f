#ifndef MLAFUZZ_KERNELS_FOREIGN_ENCODE_STEP_H_
#define MLAFUZZ_KERNELS_FOREIGN_ENCODE_STEP_H_

#include <cstdint>

#include "absl/types/span.h"
#include "corpus/image.h"
#include "kernels/foreign/wire_encoder.h"

namespace mlafuzz {

// Writes down the call that a step stands for, on tensors that lie at
// `tensors`, one a tensor of the step, and a pool whose bytes (from byte 0, not
// from page 0) lie at `pool`. Their addresses are those that `encoder` was made
// for; what is there is not read.
void EncodeStep(const CaseImage& image, const StepImage& step,
                absl::Span<std::uint8_t> pool,
                absl::Span<const absl::Span<std::uint8_t>> tensors,
                Launch launch, WireEncoder& encoder);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_ENCODE_STEP_H_
