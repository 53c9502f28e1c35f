// From a decode call over pages with footers to launches, on either backend.
#ifndef MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CALL_H_
#define MLAFUZZ_KERNELS_DECODE_PAGE_DECODE_CALL_H_

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

// As CallDecode(). It leaves no trace.
template <class Policy, class Launch>
CallResult CallPages(const DecodeArgs& args, const LaunchContext& context,
                     const DecodeOptions& options,
                     void (*adjust)(kernels::DecodeParams&),
                     const Launch& launch) {
  return CallSplits<Policy, /*kTraces=*/false>(
      args, context, options, adjust, DecodeShapeOf<typename Policy::Format>(),
      launch);
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
