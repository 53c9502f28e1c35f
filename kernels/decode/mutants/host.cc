// What the host takes, refuses, and sends which way.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::kBlockKeys;

// One dimension of a tensor, where there is such a tensor.
struct WithSize {
  WithSize(const DLTensor* from, int dimension, std::int64_t size) {
    if (from == nullptr || from->ndim > 3 || from->ndim <= dimension) {
      tensor = from;
      return;
    }
    copy = *from;
    for (int i = 0; i < from->ndim; ++i) shape[i] = from->shape[i];
    shape[dimension] = size;
    copy.shape = shape;
    tensor = &copy;
  }
  WithSize(const WithSize&) = delete;
  WithSize& operator=(const WithSize&) = delete;

  std::int64_t shape[3];
  DLTensor copy;
  const DLTensor* tensor;
};

bool IsQuery(const DLTensor* q) { return q != nullptr && q->ndim == 3; }

// Sinks as many as may be.
CallResult SinksUnchecked(const DecodeArgs& args,
                          const LaunchContext& context) {
  if (!IsQuery(args.q)) return RunDecode(args, context, {});
  const WithSize sinks(args.sinks, 0, args.q->shape[1]);
  DecodeArgs taken = args;
  taken.sinks = sinks.tensor;
  return RunDecode(taken, context, {});
}

// The demand of one backend, made before any is chosen.
CallResult LengthsDemandedOfAll(const DecodeArgs& args,
                                const LaunchContext& context) {
  return RunDecode(args, context, {.lengths_demanded = true});
}

// Index rows and lengths as many as may be.
CallResult BatchUnchecked(const DecodeArgs& args,
                          const LaunchContext& context) {
  if (!IsQuery(args.q)) return RunDecode(args, context, {});
  const WithSize indices(args.indices, 0, args.q->shape[0]);
  const WithSize lengths(args.lengths, 0, args.q->shape[0]);
  DecodeArgs taken = args;
  taken.indices = indices.tensor;
  taken.lengths = lengths.tensor;
  return RunDecode(taken, context, {});
}

// A rope of another width is none.
CallResult PeDimFallsThrough(const DecodeArgs& args,
                             const LaunchContext& context) {
  if (!IsQuery(args.q) || args.q->shape[2] <= kernels::kLatent ||
      args.q->shape[2] == kernels::kLatent + kernels::kRope) {
    return RunDecode(args, context, {});
  }
  const WithSize q(args.q, 2, kernels::kLatent);
  DecodeArgs taken = args;
  taken.q = q.tensor;
  return RunDecode(taken, context, {});
}

// The kernel that is there has whole blocks of candidates.
void WholeBlocks(DecodeParams& params) {
  if (params.lanes > kBlockKeys) params.lanes -= params.lanes % kBlockKeys;
}
void NoEndOfRow(DecodeParams& params) {
  params.lanes += (kBlockKeys - params.lanes % kBlockKeys) % kBlockKeys;
}
// The width that buffers were sized by.
void AtMost128(DecodeParams& params) {
  if (params.lanes > 128) params.lanes = 128;
}
void DeclaredTopk(DecodeParams& params) {
  if (params.declared_topk > 0) params.lanes = params.declared_topk;
}
}  // namespace

std::vector<CompiledDecode> HostFaults() {
  return {
      DecodeCallTwin<SinksUnchecked>("mutant:sinks-unchecked",
                                     "decode takes any number of sinks"),
      DecodeCallTwin<LengthsDemandedOfAll>(
          "mutant:lengths-demanded-of-all",
          "decode demands lengths that it does not need"),
      {"mutant:lengths-demand-dropped",
       "decode takes calls without the lengths that it demands",
       [](const DecodeArgs& args, const LaunchContext& context) {
         return RunDecode(args, context, {});
       },
       [] { return DecodeContractOf({.lengths_demanded = true}); }},
      DecodeCallTwin<BatchUnchecked>("mutant:batch-unchecked",
                                     "decode takes any number of index rows "
                                     "and lengths"),
      DecodeCallTwin<PeDimFallsThrough>("mutant:pe-dim-falls-through",
                                        "decode takes a rope of another width "
                                        "for none"),
      DecodeHostTwin<WholeBlocks>("mutant:part-block-dropped",
                                  "decode drops candidates past the last whole "
                                  "block"),
      DecodeHostTwin<NoEndOfRow>("mutant:last-block-unbounded",
                                 "decode reads indices to the end of a block, "
                                 "past the row"),
      DecodeHostTwin<AtMost128>("mutant:width-capped-at-128",
                                "decode drops candidates past 128"),
      DecodeHostTwin<DeclaredTopk>("mutant:width-from-topk",
                                   "decode takes the declared top-k for the "
                                   "width, also where it is larger"),
  };
}

}  // namespace mlafuzz
