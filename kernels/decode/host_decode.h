// From a decode call to launches on the host backend.
#ifndef MLAFUZZ_KERNELS_DECODE_HOST_DECODE_H_
#define MLAFUZZ_KERNELS_DECODE_HOST_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "kernels/decode/checks.h"
#include "kernels/decode/decode.cuh"
#include "kernels/decode/options.h"
#include "kernels/simt/simt.h"
#include "kernels/target.h"

namespace mlafuzz {

// Refuses what WhyRefuseDecode() refuses, does nothing for no queries, else
// launches with partials on the heap.
template <class Policy>
CallResult HostDecode(const DecodeArgs& args, const LaunchContext& context,
                      const DecodeOptions& options) {
  if (std::string why = WhyRefuseDecode(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  kernels::DecodeParams params = ToParams(args);
  if (params.queries == 0) return CallResult::Ok();
  SetRules(options, params);
  params.lanes = Policy::Lanes(params);
  kernels::SetSplits(params, args.splits);
  const std::int64_t outputs = params.queries * params.heads;
  const std::int64_t splits = outputs * params.splits;
  if (splits > INT32_MAX || outputs > INT32_MAX) {
    return CallResult::Error("more than 2^31 - 1 blocks in one launch");
  }
  const std::size_t value_bytes = options.bf16_partials ? 2 : 4;
  const auto count = static_cast<std::size_t>(splits);
  const std::unique_ptr<std::uint8_t[]> partials(
      new (std::nothrow) std::uint8_t[count * kernels::kLatent * value_bytes]);
  const std::unique_ptr<float[]> partial_lse(new (std::nothrow) float[count]);
  if (partials == nullptr || partial_lse == nullptr) {
    return CallResult::Error("no memory for the splits' partials");
  }
  params.partials = partials.get();
  params.partial_lse = partial_lse.get();
  const simt::LaunchResult launch =
      kernels::LaunchDecode<Policy>(params, context.stream, {context.schedule});
  switch (launch.kind) {
    case simt::FaultKind::kNone:
      return CallResult::Ok();
    case simt::FaultKind::kBadConfiguration:
    case simt::FaultKind::kBackendError:
      return CallResult::Error(launch.message);
    default:
      return CallResult::Fault(launch.message);
  }
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_HOST_DECODE_H_
