#ifndef MLAFUZZ_KERNELS_DECODE_DECODE_H_
#define MLAFUZZ_KERNELS_DECODE_DECODE_H_

#include <vector>

#include "kernels/decode/checks.h"
#include "kernels/decode/compiled_decode.h"
#include "kernels/decode/options.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// This project's sparse decode over 656-byte rows, or rows of `shape` that
// begin as those do and have no rope, on the host backend:
//   out [queries, heads, 512] bf16 = softmax(scale * q . k) v
//   lse [queries, heads] fp32
// over the rows of the pool that indices [queries, width] int32 name. Negative
// entries and those at or past a query's length are no keys and read nothing;
// an index past the pool is the caller's duty. Refuses what WhyRefuseDecode()
// says, with nothing written.
//
// args.splits > 0 cuts the n = ceil(width / 64) blocks so that split i gets
// blocks [i * n / splits, (i + 1) * n / splits); 0: 8 blocks a split. The
// capacity is the width of `indices`; args.declared_topk has no effect, nor
// has args.query_length: every query has its own row of indices.
CallResult RunDecode(const DecodeArgs& args, const LaunchContext& context,
                     const DecodeOptions& options,
                     const DecodeShape& shape = {});

// The right decodes:
//   builtin                bf16 arithmetic, fp32 partials
//   builtin:bf16-partials  the same with bf16 partials
//   builtin:e4m3           q and weights in E4M3
//   builtin:e4m3-two-pass  and the weights' residual
//   builtin:e4m3-qk-pow2           e4m3, and the logits take 2^floor(log2 s)
//   builtin:e4m3-two-pass-qk-pow2, -v-pow2, -both-pow2
//                                  two passes; logits, values or both do
//   builtin:flashinfer-arbitrary   FlashInfer's rules on sm_120: two passes and
//                                  bf16 partials under arbitrary_fp32,
//   builtin:flashinfer-pow2        one pass, power-of-two scales for the logits
//                                  alone and bf16 partials under pow2_fp32
//   builtin:flashmla       FlashMLA's rules on sm_90: scales rounded to bf16,
//                          LSE in base e without the sink, +Inf for no keys
std::vector<CompiledDecode> BuiltinDecodes();

// What a decode with these options promises: BuiltinContract(layout) with the
// fields qk, v, decode and arithmetic as they are.
Contract DecodeContractOf(const DecodeOptions& options,
                          Layout layout = FP8_DS_MLA);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_DECODE_DECODE_H_
