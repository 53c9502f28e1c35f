// From a decode call to launches, on either backend.
#ifndef MLAFUZZ_KERNELS_DECODE_DECODE_CALL_H_
#define MLAFUZZ_KERNELS_DECODE_DECODE_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/decode/checks.h"
#include "kernels/decode/decode.cuh"
#include "kernels/decode/options.h"
#include "kernels/decode/trace.h"
#include "kernels/kernel_calls.h"
#include "kernels/simt/simt.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Where a trace was asked for.
inline void SetTrace(const DecodeArgs& args, kernels::DecodeParams& params) {
  if (args.trace == nullptr) return;
  const TraceLayout layout =
      TraceLayout::Of(params.queries, params.heads, params.width);
  if (args.trace->shape[0] < layout.size()) return;
  auto* const trace = static_cast<float*>(args.trace->data);
  params.trace_scores = trace + layout.scores();
  params.trace_weights = trace + layout.weights();
  params.trace_maxima = trace + layout.maxima();
  params.trace_sums = trace + layout.sums();
  params.trace_accumulators = trace + layout.accumulators();
  params.trace_split_lse = trace + layout.split_lse();
  params.trace_blocks = layout.blocks;
}

// Cuts the candidates into splits as asked for and launches, with partials in
// the call's scratch memory or on the heap.
template <class Launch>
CallResult LaunchInSplits(kernels::DecodeParams& params, std::int64_t asked,
                          const LaunchContext& context, const Launch& launch) {
  kernels::SetSplits(params, asked);
  const std::int64_t outputs = params.queries * params.heads;
  const std::int64_t splits = outputs * params.splits;
  if (splits > INT32_MAX || outputs > INT32_MAX) {
    return CallResult::Error("more than 2^31 - 1 blocks in one launch");
  }
  const std::size_t value_bytes = params.bf16_partials ? 2 : 4;
  const auto count = static_cast<std::size_t>(splits);
  const ScratchBuffer partials(context, count * kernels::kLatent * value_bytes);
  const ScratchBuffer partial_lse(context, count * sizeof(float));
  if (partials.data() == nullptr || partial_lse.data() == nullptr) {
    return CallResult::Error("no memory for the splits' partials");
  }
  params.partials = partials.data();
  params.partial_lse = static_cast<float*>(partial_lse.data());
  return ToCallResult(launch(params, StreamOf(context), {context.schedule}));
}

// Whether a host that demands lengths was given none, and what it says.
inline bool LacksLengths(const DecodeArgs& args, const DecodeOptions& options) {
  return options.lengths_demanded && args.lengths == nullptr;
}
inline CallResult RefuseWithoutLengths() {
  return CallResult::Refused(
      "lengths (sparse_mla_top_k_lens) are required by this backend");
}

// Refuses what WhyRefuseDecode() refuses, does nothing for no queries, else
// launches. `adjust`, if any, is what a wrong host makes of the parameters
// before it cuts them into splits. `kTraces`: the kernel leaves a trace.
template <class Policy, bool kTraces, class Launch>
CallResult CallSplits(const DecodeArgs& args, const LaunchContext& context,
                      const DecodeOptions& options,
                      void (*adjust)(kernels::DecodeParams&),
                      const DecodeShape& shape, const Launch& launch) {
  if (std::string why = WhyRefuseDecode(args, shape); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  if (LacksLengths(args, options)) return RefuseWithoutLengths();
  kernels::DecodeParams params = ToParams(args);
  if (params.queries == 0) return CallResult::Ok();
  SetRules(options, params);
  params.timing = TimingOf(context);
  if (kTraces) SetTrace(args, params);
  params.lanes = Policy::Lanes(params);
  if (adjust != nullptr) adjust(params);
  return LaunchInSplits(params, args.splits, context, launch);
}

template <class Policy>
CallResult CallDecode(const DecodeArgs& args, const LaunchContext& context,
                      const DecodeOptions& options,
                      void (*adjust)(kernels::DecodeParams&) = nullptr,
                      const DecodeShape& shape = {}) {
  return CallSplits<Policy, /*kTraces=*/true>(
      args, context, options, adjust, shape, kernels::LaunchDecode<Policy>);
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_DECODE_CALL_H_
