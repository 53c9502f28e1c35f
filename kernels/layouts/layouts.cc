#include "kernels/layouts/layouts.h"

#include "corpus/contracts.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/page_decode_call.h"
#include "kernels/layouts/page_calls.h"

namespace mlafuzz {
namespace {

using kernels::Indexer132;
using kernels::Indexer264;

template <Layout kLayout>
Contract ContractFor() {
  return BuiltinContract(kLayout);
}

// The scale_fmt "ue8m0" of vLLM: powers of two, stored as fp32.
Contract IndexerPow2() {
  Contract contract = BuiltinContract(INDEXER_132);
  contract.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  return contract;
}

Contract Dsv4Packer() {
  Contract contract = BuiltinContract(DSV4_FOOTER_584);
  WriterContract& w = *contract.mutable_writer();
  w.set_floor(WriterContract::FLOOR_ON_SCALE);
  w.set_nan(WriterContract::NAN_CODE_7F);
  w.set_code_division(WriterContract::CODE_DIVIDE);
  w.set_slots(WriterContract::MINUS_ONE_SKIPPED);
  return contract;
}

// This project's own decode; FlashMLA's rules on sm_90; and scale bytes that
// end otherwise for the logits than for the values (FlashInfer on sm_120).
constexpr DecodeOptions kPlain = {};
constexpr DecodeOptions kFlashMlaDsv4 = {
    .lse_base_e = true, .sink_in_lse = false, .empty_plus_inf = true};
constexpr DecodeOptions kFlashInferEnds = {
    .v_ends = {.zero_is_zero = true, .last_is_inf = true}};
// FlashInfer's DSv4: E4M3, lengths mandatory.
constexpr DecodeOptions kFlashInferDsv4 = {
    .arithmetic = DecodeArithmetic::kE4m3,
    .v_ends = {.zero_is_zero = true, .last_is_inf = true},
    .bf16_partials = true,
    .lengths_demanded = true};
// FlashInfer's GLM53_NOPE: arbitrary_fp32 over rows without rope.
constexpr DecodeOptions kGlm53Nope = {
    .arithmetic = DecodeArithmetic::kE4m3TwoPass, .bf16_partials = true};

template <class Format, const DecodeOptions& kOptions>
CallResult PageDecode(const DecodeArgs& args, const LaunchContext& context) {
  return CallPageDecode<kernels::PageDecodePolicy<Format>>(args, context,
                                                           kOptions);
}
template <class Format, const DecodeOptions& kOptions>
CallResult PageE4m3Decode(const DecodeArgs& args,
                          const LaunchContext& context) {
  return CallPageE4m3<kernels::PageE4m3Policy<Format>>(args, context, kOptions);
}
template <const DecodeOptions& kOptions>
CallResult NopeDecode(const DecodeArgs& args, const LaunchContext& context) {
  return RunDecode(args, context, kOptions,
                   {.layout = NOPE_ROW_528,
                    .token_bytes = kernels::NopeRow528::kRowBytes,
                    .rope_beyond = 0});
}
template <Layout kLayout, const DecodeOptions& kOptions>
Contract DecodeContractFor() {
  return DecodeContractOf(kOptions, kLayout);
}

template <class Format>
using Writer = kernels::PageWriterPolicy<Format>;
template <class Format>
using Gatherer = kernels::PageGatherPolicy<Format>;
template <class Format>
using IndexerGather = kernels::IndexerGatherPolicy<Format>;

}  // namespace

std::vector<CompiledTarget> LayoutTargets() {
  return {
      {.name = "builtin:indexer",
       .what = "indexer K cache of 132 bytes a token, scales as computed",
       .kernels = {.write = CallPageWriter<Writer<Indexer132>>,
                   .gather = CallIndexerGather<IndexerGather<Indexer132>>},
       .contract = ContractFor<INDEXER_132>},
      {.name = "builtin:indexer-ue8m0",
       .what = "the same, power-of-two scales",
       .kernels = {.write = CallPageWriter<Writer<Indexer132>, true>},
       .contract = IndexerPow2,
       .rest = "builtin:indexer"},
      {.name = "builtin:indexer-256",
       .what = "indexer K cache for heads of 256: 264 bytes a token",
       .kernels = {.write = CallPageWriter<Writer<Indexer264>>,
                   .gather = CallIndexerGather<IndexerGather<Indexer264>>},
       .contract = ContractFor<INDEXER_264>},
      {.name = "builtin:dsv4",
       .what = "DeepSeek-V4 pages with scales in the footer, as vLLM inserts",
       .kernels = {.write = CallPageWriter<kernels::Dsv4InsertPolicy>,
                   .gather = CallPageGather<Gatherer<kernels::Dsv4Footer584>>,
                   .decode = PageDecode<kernels::Dsv4Footer584, kPlain>},
       .contract = ContractFor<DSV4_FOOTER_584>},
      {.name = "builtin:flashmla-dsv4",
       .what = "decode of DeepSeek-V4 pages by FlashMLA's rules, natural LSE",
       .kernels = {.decode = PageDecode<kernels::Dsv4Footer584, kFlashMlaDsv4>},
       .contract = DecodeContractFor<DSV4_FOOTER_584, kFlashMlaDsv4>,
       .rest = "builtin:dsv4"},
      {.name = "builtin:dsv4-scale-ends",
       .what = "decode whose values take scale bytes 0 and 255 for 0 and Inf",
       .kernels = {.decode =
                       PageDecode<kernels::Dsv4Footer584, kFlashInferEnds>},
       .contract = DecodeContractFor<DSV4_FOOTER_584, kFlashInferEnds>,
       .rest = "builtin:dsv4"},
      {.name = "builtin:flashinfer-dsv4",
       .what = "decode of DeepSeek-V4 pages by FlashInfer's rules on sm_120",
       .kernels = {.decode =
                       PageE4m3Decode<kernels::Dsv4Footer584, kFlashInferDsv4>},
       .contract = DecodeContractFor<DSV4_FOOTER_584, kFlashInferDsv4>,
       .rest = "builtin:dsv4"},
      {.name = "builtin:dsv4-packer",
       .what = "the same, as the packers of FlashMLA and FlashInfer do",
       .kernels = {.write = CallPageWriter<kernels::Dsv4PackerPolicy>},
       .contract = Dsv4Packer,
       .rest = "builtin:dsv4"},
      {.name = "builtin:dsv4_1",
       .what = "FlashInfer's DSV4_1: 512 codes, 16 scales in the footer",
       .kernels = {.write = CallPageWriter<kernels::Dsv41Policy>,
                   .gather = CallPageGather<Gatherer<kernels::Dsv41Footer528>>,
                   .decode = PageDecode<kernels::Dsv41Footer528, kPlain>},
       .contract = ContractFor<DSV4_1_FOOTER_528>},
      {.name = "builtin:nope-row",
       .what = "FlashInfer's 528-byte row without rope",
       .kernels = {.write = CallPageWriter<kernels::NopeRowPolicy>,
                   .gather = CallPageGather<Gatherer<kernels::NopeRow528>>,
                   .decode = NopeDecode<kPlain>},
       .contract = ContractFor<NOPE_ROW_528>},
      {.name = "builtin:glm53-nope",
       .what = "decode of rows without rope by FlashInfer's rules on sm_120",
       .kernels = {.decode = NopeDecode<kGlm53Nope>},
       .contract = DecodeContractFor<NOPE_ROW_528, kGlm53Nope>,
       .rest = "builtin:nope-row"},
  };
}

}  // namespace mlafuzz
