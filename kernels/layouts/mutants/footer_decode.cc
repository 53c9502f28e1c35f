// Wrong decodes of DeepSeek-V4's pages, and one of rows without rope.
#include "corpus/contracts.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/page_decode_call.h"
#include "kernels/layouts/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::Dsv4Footer584;
using kernels::PageCache;
using kernels::PageToken;

using Right = kernels::PageDecodePolicy<Dsv4Footer584>;

// ------------------------------------------------------------------ Addresses

// The scales of the token behind.
struct ScalesOfNext : Right {
  static __device__ const std::uint8_t* Entry(const PageCache& cache,
                                              std::int64_t slot) {
    return Right::Entry(cache, slot) + Format::kEntryBytes;
  }
};

// An entry has as many bytes as scales.
struct EntriesOf7 : Right {
  static __device__ const std::uint8_t* Entry(const PageCache& cache,
                                              std::int64_t slot) {
    return Page(cache, slot) + cache.page_size * Format::kRowBytes +
           slot % cache.page_size * kScales;
  }
};

// Pages follow each other without padding.
void DensePages(DecodeParams& params) {
  params.page_stride = params.page_size *
                       (Dsv4Footer584::kRowBytes + Dsv4Footer584::kEntryBytes);
}

// ------------------------------------------------------------ Logits, values

// Byte 0 expanded to 0 for the values alone.
void ZeroIsZeroInValues(DecodeParams& params) {
  params.v_ends.zero_is_zero = true;
}

// A scale byte shifted into place, whatever it is.
struct PlainShift : Right {
  static __device__ float Ue8m0(unsigned byte, const kernels::Ue8m0Ends&) {
    return __uint_as_float(byte << 23);
  }
};

// Tiles of 128, as the other layouts have them.
struct TilesOf128 : Right {
  static __device__ int ScaleOf(int chunk) { return chunk / 8; }
};

struct ValuesWithoutRope : Right {
  static __device__ bool MixesRope() { return false; }
};

struct LogitsWithoutRope : Right {
  static __device__ bool MeetsRope() { return false; }
};

// Rope goes through the last tile's scale like the codes before it.
struct RopeScaled : Right {
  static __device__ float2 Rope(const PageToken& token, unsigned pair) {
    const float scale =
        Right::Ue8m0(ScaleByte(token.entry, kScales - 1), {false, false});
    const float2 right = Right::Rope(token, pair);
    return make_float2(
        kernels::Bf16ToFloat(kernels::FloatToBf16(right.x * scale)),
        kernels::Bf16ToFloat(kernels::FloatToBf16(right.y * scale)));
  }
};

// -------------------------------------------------------------------- Masking

struct LengthIgnored : Right {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t) {
    return params.lanes;
  }
};

// Masked lanes read slot 0 of their cache, with weight 0.
struct MaskedReadSlot0 : Right {
  static __device__ PageToken MaskedToken(const PageCache& cache) {
    return {Row(cache, 0), Entry(cache, 0)};
  }
};

// --------------------------------------------------------------- Second cache

struct ExtraLengthIgnored : Right {
  static __device__ std::int64_t ExtraLength(const DecodeParams& params,
                                             std::int64_t) {
    return params.extra_lanes;
  }
};

// The bound of the first loop for the second one.
struct ExtraCutAtFirstWidth : Right {
  static __device__ std::int64_t ExtraLength(const DecodeParams& params,
                                             std::int64_t query) {
    const std::int64_t length = Right::ExtraLength(params, query);
    return length < params.lanes ? length : params.lanes;
  }
};

struct ExtraLengthOfFirst : Right {
  static __device__ std::int64_t ExtraLength(const DecodeParams& params,
                                             std::int64_t query) {
    return params.lengths == nullptr
               ? params.extra_lanes
               : params.lengths[query * params.lengths_stride];
  }
};

struct ExtraPageSizeOfFirst : Right {
  static __device__ PageCache Extra(const DecodeParams& params) {
    return {params.extra_cache, params.page_size, params.extra_page_stride};
  }
};

struct ExtraPageStrideOfFirst : Right {
  static __device__ PageCache Extra(const DecodeParams& params) {
    return {params.extra_cache, params.extra_page_size, params.page_stride};
  }
};

struct ExtraInFirst : Right {
  static __device__ PageCache Extra(const DecodeParams& params) {
    return First(params);
  }
};

// ------------------------------------------------------------------------ E4M3

using RightE4m3 = kernels::PageE4m3Policy<Dsv4Footer584>;

// Values of a tile under the weights of the one before.
struct WeightsOfTileBefore : RightE4m3 {
  static __device__ int WeightTile(int chunk) {
    const int tile = ValueTile(chunk);
    return tile > 0 ? tile - 1 : 0;
  }
};

void DropsExtra(DecodeParams& params) { params.extra_lanes = 0; }

// --------------------------------------------------------------------- Targets

Contract OfDsv4() { return BuiltinContract(DSV4_FOOTER_584); }
constexpr DecodeOptions kDsv4E4m3 = {
    .arithmetic = DecodeArithmetic::kE4m3,
    .v_ends = {.zero_is_zero = true, .last_is_inf = true},
    .bf16_partials = true,
    .lengths_demanded = true};
Contract OfDsv4E4m3() { return DecodeContractOf(kDsv4E4m3, DSV4_FOOTER_584); }
CallResult E4m3WeightsOfTileBefore(const DecodeArgs& args,
                                   const LaunchContext& context) {
  return CallPageE4m3<WeightsOfTileBefore>(args, context, kDsv4E4m3);
}
Contract OfNopeRow() { return BuiltinContract(NOPE_ROW_528); }

template <class Policy, void (*adjust)(DecodeParams&) = nullptr>
CompiledTarget Twin(const char* name, const char* what) {
  return {
      .name = name,
      .what = what,
      .kernels = {.decode =
                      [](const DecodeArgs& args, const LaunchContext& context) {
                        return CallPageDecode<Policy>(args, context, {},
                                                      adjust);
                      }},
      .contract = OfDsv4,
      .rest = "builtin:dsv4"};
}

CallResult NopeRowPow2(const DecodeArgs& args, const LaunchContext& context) {
  return RunDecode(args, context, {.qk_scale = kernels::ScaleRule::kPow2Floor},
                   {.layout = NOPE_ROW_528,
                    .token_bytes = kernels::NopeRow528::kRowBytes,
                    .rope_beyond = 0});
}

}  // namespace

std::vector<CompiledTarget> FooterDecodeMutants() {
  return {
      Twin<ScalesOfNext>("mutant:dsv4-decode-scales-of-next",
                         "DeepSeek-V4 decode takes the next token's scales"),
      Twin<EntriesOf7>("mutant:dsv4-decode-entries-of-7",
                       "DeepSeek-V4 decode takes entries of seven bytes"),
      Twin<Right, DensePages>("mutant:dsv4-decode-dense-pages",
                              "DeepSeek-V4 decode ignores the pages' padding"),
      Twin<Right, ZeroIsZeroInValues>(
          "mutant:dsv4-decode-zero-is-zero",
          "DeepSeek-V4 decode takes scale byte 0 for 0 in the values"),
      Twin<PlainShift>("mutant:dsv4-decode-plain-shift",
                       "DeepSeek-V4 decode shifts scale bytes into place"),
      Twin<TilesOf128>("mutant:dsv4-decode-tiles-of-128",
                       "DeepSeek-V4 decode takes tiles to be of 128 codes"),
      Twin<ValuesWithoutRope>("mutant:dsv4-decode-values-without-rope",
                              "DeepSeek-V4 decode leaves rope out of V"),
      Twin<LogitsWithoutRope>("mutant:dsv4-decode-logits-without-rope",
                              "DeepSeek-V4 decode leaves rope out of QK"),
      Twin<RopeScaled>("mutant:dsv4-decode-rope-scaled",
                       "DeepSeek-V4 decode scales rope with the last tile"),
      Twin<LengthIgnored>("mutant:dsv4-decode-length-ignored",
                          "DeepSeek-V4 decode reads lanes past the length"),
      Twin<MaskedReadSlot0>(
          "mutant:dsv4-decode-masked-reads-slot0",
          "DeepSeek-V4 decode reads slot 0 for masked lanes, weight 0"),
      Twin<ExtraLengthIgnored>(
          "mutant:dsv4-decode-extra-length-ignored",
          "DeepSeek-V4 decode reads lanes past the second length"),
      Twin<ExtraLengthOfFirst>(
          "mutant:dsv4-decode-extra-length-of-first",
          "DeepSeek-V4 decode bounds both rows by the first length"),
      Twin<ExtraCutAtFirstWidth>(
          "mutant:dsv4-decode-extra-cut-at-first-width",
          "DeepSeek-V4 decode cuts second index rows at the first ones' width"),
      Twin<ExtraPageSizeOfFirst>(
          "mutant:dsv4-decode-extra-page-size",
          "DeepSeek-V4 decode takes the second page size for the first"),
      Twin<ExtraPageStrideOfFirst>(
          "mutant:dsv4-decode-extra-page-stride",
          "DeepSeek-V4 decode takes the second page stride for the first"),
      Twin<ExtraInFirst>("mutant:dsv4-decode-extra-in-first",
                         "DeepSeek-V4 decode reads the first cache for both"),
      Twin<Right, DropsExtra>("mutant:dsv4-decode-extra-dropped",
                              "DeepSeek-V4 decode ignores the second cache"),
      {.name = "mutant:dsv4-decode-e4m3-tile-before",
       .what = "DeepSeek-V4 decode in E4M3 mixes a tile by another's weights",
       .kernels = {.decode = E4m3WeightsOfTileBefore},
       .contract = OfDsv4E4m3,
       .rest = "builtin:dsv4"},
      {.name = "mutant:nope-row-decode-qk-pow2",
       .what = "decode of 528-byte rows takes exponents for the logits",
       .kernels = {.decode = NopeRowPow2},
       .contract = OfNopeRow,
       .rest = "builtin:nope-row"},
  };
}

}  // namespace mlafuzz
