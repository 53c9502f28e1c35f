// Wrong decodes of kernels/decode/mutants/families.h, in that order.
#include "oracle/verdict.h"
#include "properties/ledger/entries.h"

namespace mlafuzz {
namespace {

using namespace property;  // NOLINT: names of properties alone

// A wrong decode that no contract field explains. `key`: see LedgerEntry.
LedgerEntry Fault(std::string target, std::vector<std::string> properties,
                  std::string key, std::string source) {
  return {.target = std::move(target),
          .kernels = {Kernel::kDecode},
          .properties = std::move(properties),
          .key = std::move(key),
          .source = std::move(source)};
}

// One that behaves as under another value of `field`.
LedgerEntry Rule(std::string target, std::vector<std::string> properties,
                 std::string field, std::string value, std::string source) {
  LedgerEntry entry =
      Fault(std::move(target), std::move(properties), "", std::move(source));
  entry.key = field + "=" + value;
  entry.field = std::move(field);
  entry.value = std::move(value);
  return entry;
}

LedgerEntry TrueAsWell(std::string key, LedgerEntry entry) {
  entry.true_as_well = std::move(key);
  return entry;
}

// A host that demands lengths, and takes calls without.
LedgerEntry LengthsDemandedBy(std::string target) {
  LedgerEntry entry = Fault(std::move(target), {kRefusal},
                            "accepted-invalid:decode.lengths_demand",
                            "operator: dropped check");
  entry.right = "builtin:lengths-demanded";
  return entry;
}

// One that takes the scales of both sides by `rule`.
LedgerEntry BothScales(std::string target, const std::string& rule,
                       std::string source) {
  LedgerEntry entry = Fault(std::move(target), {kDecodeOut, kDecodeLse},
                            "qk.scale_rule=" + rule + "+v.scale_rule=" + rule,
                            std::move(source));
  entry.field = "qk.scale_rule+v.scale_rule";
  entry.value = rule + "+" + rule;
  return entry;
}

}  // namespace

std::vector<LedgerEntry> DecodeFamilyEntries() {
  const std::vector<std::string> outputs = {kDecodeOut, kDecodeLse};
  return {
      // Scales.
      BothScales("mutant:scale-pow2-ceil", "SCALE_POW2_CEIL",
                 "vllm-project/vllm#54563, its second form"),
      BothScales("mutant:scale-through-bf16", "SCALE_BF16",
                 "deepseek-ai/FlashMLA#184, vllm-project/vllm#49435"),
      Rule("mutant:v-scale-skipped", {kDecodeOut}, "v.scale_rule", "SCALE_ONE",
           "sgl-project/sglang#34765"),
      Rule("mutant:qk-scale-skipped", {kDecodeLse, kDecodeOut}, "qk.scale_rule",
           "SCALE_ONE", "operator: dropped scale"),
      Fault("mutant:qk-scale-tiles-swapped", outputs, "",
            "operator: swapped tile scales"),
      Fault("mutant:v-scale-of-first-tile", {kDecodeOut}, "",
            "vllm-project/vllm#48611, one scale for a row"),
      Fault("mutant:scale-clamped-at-zero", outputs, "",
            "operator: maximum with 0 hides NaN"),
      Fault("mutant:scale-subnormal-flushed", outputs, "",
            "NVIDIA/TransformerEngine#3262, of fp32 scales"),
      // Values.
      Fault("mutant:code-subnormal-as-normal", outputs, "",
            "ooples/AiDotNet.Tensors#801"),
      Fault("mutant:code-nan-as-480", outputs, "",
            "operator: E4M3 decoded without its NaN"),
      Fault("mutant:v-last-columns-skipped", {kDecodeOut}, "",
            "operator: last columns left out"),
      Fault("mutant:masked-value-load", {kDecodeOut, kMemory, "two-poison"},
            "rows-past-length-read",
            "flashinfer-ai/flashinfer#941, Dao-AILab/flash-attention#1745, "
            "vllm-project/vllm#43961"),
      // Query.
      Fault("mutant:rope-first-half", outputs, "rope-first-half",
            "operator: rope cut to 32 columns"),
      Fault("mutant:rope-halves-swapped", outputs, "rope-halves-swapped",
            "operator: halves of the rope swapped"),
      Fault("mutant:rope-dropped", outputs, "rope-dropped",
            "operator: rope left out"),
      Fault("mutant:qk-last-tile-dropped", outputs, "tile-skipped",
            "operator: last tile left out"),
      Rule("mutant:tail-meets-storage", outputs, "decode.nope_tail",
           "NOPE_TAIL_AS_ROPE", "vllm-project/vllm#55277, #57578"),
      // Roundings.
      Fault("mutant:dequant-unrounded", outputs, "",
            "operator: no rounding of dequantised values"),
      Fault("mutant:query-through-e4m3", outputs, "",
            "operator: query in E4M3 where bf16 is promised"),
      Fault("mutant:weights-toward-zero", {kDecodeOut}, "",
            "operator: weights rounded toward zero"),
      Fault("mutant:weights-in-e4m3", {kDecodeOut}, "",
            "operator: weights in E4M3 where bf16 is promised"),
      Fault("mutant:sum-of-rounded-weights", outputs, "",
            "operator: sum after rounding"),
      Fault("mutant:out-toward-zero", {kDecodeOut}, "",
            "operator: output rounded toward zero"),
      Fault("mutant:out-rounded-twice", {kDecodeOut}, "",
            "triton-lang/triton#11753, of outputs through fp16"),
      Fault("mutant:partials-in-bf16", {kDecodeOut}, "",
            "operator: partials in bf16 where fp32 is promised"),
      // Sinks and splits under a condition.
      Fault("mutant:sink-of-ragged-group", outputs, "",
            "operator: index of a group for that of its members"),
      Fault("mutant:empty-row-without-sink", {kDecodeLse},
            "empty-row-without-sink", "operator: early return before the sink"),
      Fault("mutant:uneven-blocks-dropped", outputs, "uneven-blocks-dropped",
            "operator: quotient rounded down"),
      // Masks and lengths.
      Rule("mutant:minus-one-alone-masked", {kDecodeOut, kDecodeLse, kMemory},
           "decode.mask", "MINUS_ONE_MASKED",
           "deepseek-ai/FlashMLA#109, kekzl/imp#1678"),
      Fault("mutant:length-zero-for-none", {kDecodeOut, kDecodeLse, kMemory},
            "length-zero-for-none", "operator: 0 taken for no argument"),
      Fault("mutant:length-inclusive", {kDecodeOut, kDecodeLse, kMemory},
            "length-off-by-one", "operator: length off by one"),
      Rule("mutant:length-ignored-from-2-queries",
           {kDecodeOut, kDecodeLse, kMemory}, "decode.length", "LENGTH_IGNORED",
           "flashinfer-ai/flashinfer#5095, at another threshold"),
      Rule("mutant:length-ignored-past-64-lanes",
           {kDecodeOut, kDecodeLse, kMemory}, "decode.length", "LENGTH_IGNORED",
           "flashinfer-ai/flashinfer#5095, at another threshold"),
      Fault("mutant:first-masked-ends-row", outputs, "row-ends-at-first-masked",
            "vllm-project/vllm#48364, padding taken to be behind"),
      Fault("mutant:valid-count-as-length", outputs, "key-count-for-length",
            "vllm-project/vllm#48364, padding taken to be behind"),
      Fault("mutant:masked-score-zero", outputs, "", "operator: dropped mask"),
      TrueAsWell("rows-past-length-read",
                 Fault("mutant:tail-lanes-join-max",
                       {kDecodeOut, kMemory, "two-poison"}, "",
                       "vllm-project/vllm#53856")),
      Fault("mutant:length-of-first-query", {kDecodeOut, kDecodeLse, kMemory},
            "length-of-first-query", "sgl-project/sglang#16678"),
      // Softmax.
      Fault("mutant:sum-not-rescaled", outputs, "",
            "operator: missing rescale of the sum"),
      // Of two blocks the last is the only one.
      Fault("mutant:last-block-not-rescaled", {kDecodeOut}, "missing-rescale",
            "operator: missing rescale before the last block"),
      Fault("mutant:max-over-half-block", outputs, "",
            "operator: maximum of half a block"),
      Fault("mutant:max-not-subtracted", outputs, "",
            "operator: softmax without its maximum"),
      Fault("mutant:softmax-scale-twice", outputs, "",
            "operator: softmax scale applied twice"),
      Fault("mutant:softmax-in-base-2", outputs, "",
            "operator: softmax in base 2"),
      Fault("mutant:log2e-twice", outputs, "",
            "deepseek-ai/FlashMLA#106, in a kernel"),
      // Splits and merge.
      Fault("mutant:merge-of-empty-nan", outputs, "empty-row-nan",
            "flashinfer-ai/flashinfer#4051, vllm-project/vllm#39148"),
      Fault("mutant:merge-in-base-e", outputs, "",
            "vllm-project/vllm#47079, sgl-project/sglang#33064"),
      Fault("mutant:merge-equal-weights", outputs, "",
            "operator: splits merged with equal weights"),
      Fault("mutant:empty-split-weighs-one", outputs, "",
            "operator: empty split with weight 1"),
      Fault("mutant:empty-split-unwritten", outputs, "",
            "flashinfer-ai/flashinfer#4002, #4794"),
      Fault("mutant:splits-overlap", outputs, "",
            "operator: split border off by one"),
      Fault("mutant:lse-without-max", outputs, "",
            "operator: LSE without the maximum"),
      Fault("mutant:e4m3-zero-sum-unguarded", {kDecodeOut}, "empty-split-nan",
            "flashinfer-ai/flashinfer#4573"),
      // Sinks and LSE.
      Fault("mutant:sink-in-base-2", outputs, "",
            "vllm-project/vllm#54568, second form"),
      Fault("mutant:sink-in-every-split", outputs, "",
            "vllm-project/vllm#54568, third form"),
      Fault("mutant:sink-of-first-head", outputs, "sink-of-first-head",
            "operator: stride 0 of the sinks"),
      Rule("mutant:sink-not-in-lse", {kDecodeLse}, "decode.sink",
           "SINK_NOT_IN_LSE", "flashinfer-ai/flashinfer#5203"),
      // Where a sink is part of the LSE it stays so.
      Fault("mutant:empty-row-plus-inf", {kDecodeLse},
            "decode.empty_row=", "flashinfer-ai/flashinfer#4484"),
      Fault("mutant:lse-natural-of-one-split", {kDecodeLse},
            "decode.lse_base=", "vllm-project/vllm#47079, without a merge"),
      // Addresses.
      Fault("mutant:page-stride-dense", {kDecodeOut, kDecodeLse, kMemory},
            "page-stride-dense",
            "flashinfer-ai/flashinfer#4362, #3856, vllm-project/vllm#47783"),
      Fault("mutant:row-stride-dense", {kDecodeOut, kDecodeLse, kMemory},
            "row-stride-dense", "vllm-project/vllm#57477, of rows"),
      Fault("mutant:pages-of-64", {kDecodeOut, kDecodeLse, kMemory},
            "page-size", "flashinfer-ai/flashinfer#3395"),
      Fault("mutant:page-size-rounded-up", {kDecodeOut, kDecodeLse, kMemory},
            "page-size", "sgl-project/sglang-jax#1074"),
      Fault("mutant:row-offset-wraps", outputs, "",
            "vllm-project/vllm#54019, in 16 bits"),
      Fault("mutant:slot-off-by-one", outputs, "",
            "operator: index off by one"),
      Fault("mutant:index-rows-dense", {kDecodeOut, kDecodeLse, kMemory},
            "index-rows-dense", "vllm-project/vllm#57388"),
      Fault("mutant:index-row-of-first-query", outputs,
            "indices-of-first-query", "sgl-project/sglang#16678"),
      Fault("mutant:query-of-first-head", outputs, "",
            "operator: stride 0 of heads"),
      Fault("mutant:grid-wrong-divisor", outputs, "",
            "flagos-ai/FlagGems#3759"),
      // Outputs.
      Fault("mutant:odd-head-unwritten", outputs, "",
            "operator: last head unwritten"),
      Fault("mutant:empty-row-unwritten", outputs, "",
            "operator: early return without keys"),
      Fault("mutant:empty-row-lse-unwritten", {kDecodeLse}, "",
            "operator: LSE unwritten without keys"),
      Fault("mutant:lse-of-one-split-unwritten", {kDecodeLse}, "",
            "operator: LSE of the merge alone"),
      Fault("mutant:store-past-row", {kDecodeOut, kMemory, kWrittenSet}, "",
            "operator: store past a row"),
      // Barriers.
      Fault("mutant:scores-not-awaited",
            {kDecodeOut, kDecodeLse, kLanes, "schedule"}, "",
            "ROCm/aiter#4638"),
      Fault("mutant:weights-not-awaited",
            {kDecodeOut, kDecodeLse, kLanes, "schedule"}, "",
            "PaddlePaddle/PaddleFleet#2012"),
      Fault("mutant:idle-warp-skips-barrier", {kLanes}, "divergence",
            "flashinfer-ai/flashinfer#4732"),
      // Host.
      Fault("mutant:sinks-unchecked", {kRefusal},
            "accepted-invalid:decode.heads", "operator: dropped check"),
      Rule("mutant:lengths-demanded-of-all", {kRefusal},
           "decode.lengths_demand", "LENGTHS_DEMANDED",
           "flashinfer-ai/flashinfer#4947"),
      LengthsDemandedBy("mutant:lengths-demand-dropped"),
      Fault("mutant:batch-unchecked", {kRefusal, kMemory}, "",
            "vllm-project/vllm#39542"),
      Fault("mutant:pe-dim-falls-through", {kRefusal},
            "accepted-invalid:decode.pe_dim",
            "flashinfer-ai/flashinfer#4541, #4336"),
      Fault("mutant:part-block-dropped", outputs, "row-truncated",
            "flashinfer-ai/flashinfer#5135, sgl-project/sglang#33134"),
      Fault("mutant:last-block-unbounded", {kDecodeOut, kDecodeLse, kMemory},
            "", "flashinfer-ai/flashinfer#5193"),
      Fault("mutant:width-capped-at-128", outputs, "row-truncated",
            "sgl-project/sglang#9675"),
      Rule("mutant:width-from-topk", {kDecodeOut, kDecodeLse, kMemory},
           "decode.capacity", "DECLARED_TOPK_CLIPS",
           "vllm-project/vllm#55277, #53969"),
      // State.
      Fault("mutant:scale-of-first-call", outputs, "",
            "vllm-project/vllm#35175, #36611"),
      Fault("mutant:skips-repeated-shape", outputs, "",
            "operator: output kept from the last call"),
      // Cheats.
      Fault("mutant:zero-output", {kDecodeOut}, "", "impostor"),
      Fault("mutant:mean-of-values", outputs, "", "impostor"),
      Fault("mutant:first-query-for-all", outputs, "first-query-for-all",
            "impostor"),
      Fault("mutant:refuses-wide-rows", {kRefusal}, "", "impostor"),
      Fault("mutant:right-on-first-call", outputs, "", "impostor"),
  };
}

}  // namespace mlafuzz
