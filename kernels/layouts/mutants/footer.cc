// Wrong writers and gathers of the pages with UE8M0 scales in their footer.
#include "corpus/contracts.h"
#include "kernels/layouts/mutants/mutants.h"
#include "kernels/layouts/page_calls.h"

namespace mlafuzz {
namespace {

using kernels::Dsv41Policy;
using kernels::Dsv4Footer584;
using kernels::Dsv4InsertPolicy;
using kernels::GatherParams;
using kernels::WriterParams;

using RightGather = kernels::PageGatherPolicy<Dsv4Footer584>;

// ----------------------------------------------------------------- Writers

// The floor of the reference packers in the insert.
struct FloorOnScale : Dsv4InsertPolicy {
  static __device__ float Scale(float amax, bool) {
    return kernels::CeilToPow2(
        kernels::MaxIgnoringNan(1e-4f, __fdiv_rn(amax, 448.0f)));
  }
};

// NaN is not clamped.
struct NanKept : Dsv4InsertPolicy {
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    return PageWriterPolicy::Code<Input>(bits, scale);
  }
};

struct OnlyMinusOne : Dsv4InsertPolicy {
  static __device__ bool Skips(const WriterParams&, std::int64_t,
                               std::int64_t slot, unsigned, unsigned) {
    return slot == -1;
  }
};

// The exponent is cut off where it is to be rounded up.
struct ExponentCutOff : Dsv4InsertPolicy {
  static __device__ float Scale(float amax, bool) {
    return __uint_as_float(__float_as_uint(__fdiv_rn(
                               kernels::MaxIgnoringNan(1e-4f, amax), 448.0f)) &
                           0xff800000u);
  }
};

// Values are divided by the exact scale, the rounded one is published.
struct PublishesRounded : Dsv4InsertPolicy {
  static __device__ float Scale(float amax, bool) {
    return __fdiv_rn(kernels::MaxIgnoringNan(1e-4f, amax), 448.0f);
  }
  static __device__ void StoreScale(std::uint8_t* entry, unsigned tile,
                                    float scale) {
    PageWriterPolicy::StoreScale(entry, tile, kernels::CeilToPow2(scale));
  }
};

// The entry's eighth byte keeps what it held.
struct PaddingKept : Dsv4InsertPolicy {
  static __device__ void ClearPadding(std::uint8_t*) {}
};

// An entry has as many bytes as scales.
struct EntriesOf7 : Dsv4InsertPolicy {
  static __device__ std::uint8_t* Entry(const WriterParams& params,
                                        std::int64_t slot) {
    return Page(params, slot) + params.page_size * Format::kRowBytes +
           slot % params.page_size * 7;
  }
};

// Of equal slots any row may win.
struct RowsRace : Dsv41Policy {
  static __device__ bool Skips(const WriterParams& params, std::int64_t,
                               std::int64_t slot, unsigned, unsigned) {
    return slot < 0 || slot >= params.pool_slots;
  }
};

// A NaN is left out of its group's maximum.
struct NanIgnored : Dsv41Policy {
  static __device__ float Max(float running, float value) {
    return kernels::MaxIgnoringNan(running, value);
  }
};

// ----------------------------------------------------------------- Gathers

struct ZeroIsZero : RightGather {
  static __device__ float Ue8m0(unsigned byte) {
    return byte == 0 ? 0.0f : RightGather::Ue8m0(byte);
  }
};

struct LastIsInf : RightGather {
  static __device__ float Ue8m0(unsigned byte) {
    return byte == 255 ? __uint_as_float(0x7f800000u)
                       : RightGather::Ue8m0(byte);
  }
};

struct FirstTileForAll : RightGather {
  static __device__ unsigned TileOf(unsigned) { return 0; }
};

// Scales of 128 codes, as the other layouts have them.
struct TilesOf128 : RightGather {
  static __device__ unsigned TileOf(unsigned chunk) { return chunk / 16; }
};

// Entries of the page's tokens stand from the last to the first.
struct EntriesFromBehind : RightGather {
  static __device__ const std::uint8_t* Entry(const GatherParams& params,
                                              std::int64_t page,
                                              std::int64_t row) {
    return RightGather::Entry(params, page, params.page_size - 1 - row);
  }
};

template <Layout kLayout>
Contract ContractFor() {
  return BuiltinContract(kLayout);
}

template <class Policy>
CompiledTarget Writer(const char* name, const char* what) {
  return {.name = name,
          .what = what,
          .kernels = {.write = CallPageWriter<Policy>},
          .contract = ContractFor<Policy::Format::kLayout>,
          .rest = Policy::Format::kLayout == DSV4_FOOTER_584
                      ? "builtin:dsv4"
                      : "builtin:dsv4_1"};
}

template <class Policy>
CompiledTarget Gatherer(const char* name, const char* what) {
  return {.name = name,
          .what = what,
          .kernels = {.gather = CallPageGather<Policy>},
          .contract = ContractFor<DSV4_FOOTER_584>,
          .rest = "builtin:dsv4"};
}

}  // namespace

std::vector<CompiledTarget> FooterMutants() {
  return {
      Writer<FloorOnScale>("mutant:dsv4-floor-on-scale",
                           "DeepSeek-V4 insert floors the scale, not amax"),
      Writer<NanKept>("mutant:dsv4-nan-kept",
                      "DeepSeek-V4 insert stores the code of NaN for NaN"),
      Writer<OnlyMinusOne>("mutant:dsv4-minus-one-only",
                           "DeepSeek-V4 insert skips only slot -1"),
      Writer<ExponentCutOff>("mutant:dsv4-exponent-cut-off",
                             "DeepSeek-V4 insert rounds scales down"),
      Writer<PublishesRounded>(
          "mutant:dsv4-publishes-rounded",
          "DeepSeek-V4 insert divides by the exact scale, stores the rounded"),
      Writer<PaddingKept>("mutant:dsv4-padding-kept",
                          "DeepSeek-V4 insert leaves the footer's eighth byte"),
      Writer<EntriesOf7>(
          "mutant:dsv4-entries-of-7",
          "DeepSeek-V4 insert packs seven scales to seven bytes"),
      Writer<RowsRace>("mutant:dsv4_1-rows-race",
                       "DSV4_1 writer lets the last of equal slots stand"),
      Writer<NanIgnored>("mutant:dsv4_1-nan-ignored",
                         "DSV4_1 writer leaves NaN out of its group's maximum"),
      Gatherer<ZeroIsZero>("mutant:dsv4-zero-is-zero",
                           "DeepSeek-V4 gather takes scale byte 0 for 0"),
      Gatherer<LastIsInf>("mutant:dsv4-last-is-inf",
                          "DeepSeek-V4 gather takes scale byte 255 for Inf"),
      Gatherer<FirstTileForAll>("mutant:dsv4-first-tile-for-all",
                                "DeepSeek-V4 gather uses the first scale only"),
      Gatherer<TilesOf128>("mutant:dsv4-tiles-of-128",
                           "DeepSeek-V4 gather takes tiles to be of 128 codes"),
      Gatherer<EntriesFromBehind>(
          "mutant:dsv4-entries-from-behind",
          "DeepSeek-V4 gather reads the footer from its end"),
  };
}

}  // namespace mlafuzz
