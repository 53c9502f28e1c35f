#include "kernels/foreign/encode_step.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/call_args.h"
#include "kernels/foreign/wire.h"
#include "kernels/target_set.h"

namespace mlafuzz {

void EncodeStep(const CaseImage& image, const StepImage& step,
                absl::Span<std::uint8_t> pool,
                absl::Span<const absl::Span<std::uint8_t>> tensors,
                Launch launch, WireEncoder& encoder) {
  std::vector<std::uint8_t*> data;
  std::vector<WireEncoder::Buffer> buffers = {
      {wire::kCache, pool.data(), pool.size()}};
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    data.push_back(tensors[t].data());
    buffers.push_back({static_cast<std::uint32_t>(step.tensors[t].id),
                       tensors[t].data(), tensors[t].size()});
  }
  encoder.NextCall(std::move(buffers));
  LaunchContext context;
  context.schedule = image.source != nullptr ? image.source->schedule() : 0;
  context.launch = launch;
  CallArgs(image.pool, pool.data() + image.pool.offset, step, data, {kDLCPU, 0})
      .Call(&encoder, context);
}

}  // namespace mlafuzz
