// From a decode call over pages with footers to launches, on either backend.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CALL_H_
#define MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CALL_H_

#include <string>
#include <utility>

#include "kernels/decode/decode_call.h"
#include "kernels/decode/page_decode.cuh"
#include "kernels/decode/page_e4m3.cuh"

namespace mlafuzz {

template <class Format>
DecodeShape DecodeShapeOf() {
  return {.layout = Format::kLayout,
          .token_bytes = Format::kRowBytes + Format::kEntryBytes,
          .rope_beyond = 0,
          .extra = Format::kLayout == DSV4_FOOTER_584};
}

// As CallDecode(). It leaves no trace. `adjust`, if any, is what a wrong host
// makes of the parameters.
template <class Policy, class Launch>
CallResult CallPages(const DecodeArgs& args, const LaunchContext& context,
                     const DecodeOptions& options,
                     void (*adjust)(kernels::DecodeParams&),
                     const Launch& launch) {
  const DecodeShape shape = DecodeShapeOf<typename Policy::Format>();
  if (std::string why = WhyRefuseDecode(args, shape); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  if (LacksLengths(args, options)) return RefuseWithoutLengths();
  kernels::DecodeParams params = ToParams(args);
  if (params.queries == 0) return CallResult::Ok();
  SetRules(options, params);
  params.timing = TimingOf(context);
  params.lanes = Policy::Lanes(params);
  if (adjust != nullptr) adjust(params);
  return LaunchInSplits(params, args.splits, context, launch);
}

template <class Policy>
CallResult CallPageDecode(const DecodeArgs& args, const LaunchContext& context,
                          const DecodeOptions& options,
                          void (*adjust)(kernels::DecodeParams&) = nullptr) {
  return CallPages<Policy>(args, context, options, adjust,
                           kernels::LaunchPageDecode<Policy>);
}

// In E4M3 arithmetic.
template <class Policy>
CallResult CallPageE4m3(const DecodeArgs& args, const LaunchContext& context,
                        const DecodeOptions& options) {
  return CallPages<Policy>(args, context, options, nullptr,
                           kernels::LaunchPageE4m3<Policy>);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CALL_H_
