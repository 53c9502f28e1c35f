// Wrong writers and gathers of the indexer's K cache.
#include "corpus/contracts.h"
#include "kernels/layouts/mutants/mutants.h"
#include "kernels/layouts/page_calls.h"

namespace mlafuzz {
namespace {

using kernels::Indexer132;
using kernels::IndexerGatherParams;
using kernels::WriterParams;

using Right = kernels::PageWriterPolicy<Indexer132>;
using RightGather = kernels::IndexerGatherPolicy<Indexer132>;

// ----------------------------------------------------------------- Writers

// The floor of another cache's writer: under the scale, not under amax.
struct FloorOnScale : Right {
  static __device__ float Scale(float amax, bool) {
    return kernels::MaxIgnoringNan(1e-4f, __fdiv_rn(amax, 448.0f));
  }
};

// Rounds up to a power of two, and forgets the floor.
struct NoFloorPow2 : Right {
  static __device__ float Scale(float amax, bool) {
    return kernels::CeilToPow2(__fdiv_rn(amax, 448.0f));
  }
};

// Of fp16 the largest pattern, sign included, counts for the largest magnitude.
struct RawBits : Right {
  template <class Input>
  static __device__ float Magnitude(unsigned bits) {
    return Input::kIsFp16 ? static_cast<float>(bits)
                          : Right::Magnitude<Input>(bits);
  }
};

// Only -1 marks a token without a slot.
struct OnlyMinusOne : Right {
  static __device__ bool Skips(const WriterParams&, std::int64_t,
                               std::int64_t slot, unsigned, unsigned) {
    return slot == -1;
  }
};

// A token's scale follows its codes, as in a layout of rows.
struct ScalesInline : Right {
  static constexpr int kToken = Format::kRowBytes + Format::kEntryBytes;
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return Page(params, slot) + slot % params.page_size * kToken;
  }
  static __device__ std::uint8_t* Entry(const WriterParams& params,
                                        std::int64_t slot) {
    return Row(params, slot) + Format::kRowBytes;
  }
};

// The place of a scale counts from the end of a full page of 64 tokens.
struct EntriesBehind64 : Right {
  static __device__ std::uint8_t* Entry(const WriterParams& params,
                                        std::int64_t slot) {
    const std::int64_t rows = params.page_size < 64 ? params.page_size : 64;
    return Page(params, slot) + rows * Format::kRowBytes +
           slot % params.page_size * Format::kEntryBytes;
  }
};

// Pages follow one another without a gap.
struct DensePages : Right {
  static __device__ std::uint8_t* Base(const WriterParams& params,
                                       std::int64_t slot) {
    return params.cache + slot / params.page_size * params.page_size *
                              (Format::kRowBytes + Format::kEntryBytes);
  }
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return Base(params, slot) + slot % params.page_size * Format::kRowBytes;
  }
  static __device__ std::uint8_t* Entry(const WriterParams& params,
                                        std::int64_t slot) {
    return Base(params, slot) + params.page_size * Format::kRowBytes +
           slot % params.page_size * Format::kEntryBytes;
  }
};

Contract Pow2Contract() {
  Contract contract = BuiltinContract(INDEXER_132);
  contract.mutable_writer()->set_scale(WriterContract::POW2_CEIL);
  return contract;
}

// ----------------------------------------------------------------- Gathers

// Codes are read from the 16-byte boundary at or below their address.
struct CodesFromBoundary : RightGather {
  static __device__ const std::uint8_t* Codes(const std::uint8_t* row) {
    return row - reinterpret_cast<std::uintptr_t>(row) % 16;
  }
};

// A scale's place follows from the stride of the codes.
struct ScalesByCodeStride : RightGather {
  static __device__ unsigned* Scales(const IndexerGatherParams& params,
                                     std::int64_t row) {
    return params.scales + row * params.codes_row_stride / Format::kTile;
  }
};

// Reads what ScalesInline wrote.
struct ReadsInline : RightGather {
  static constexpr int kToken = Format::kRowBytes + Format::kEntryBytes;
  static __device__ const std::uint8_t* Row(const std::uint8_t* page,
                                            std::int64_t row) {
    return page + row * kToken;
  }
  static __device__ const std::uint8_t* Entry(const IndexerGatherParams&,
                                              const std::uint8_t* page,
                                              std::int64_t row) {
    return page + row * kToken + Format::kRowBytes;
  }
};

// Rows of no request go to the first one.
struct FirstOwnsRest : RightGather {
  static __device__ int Owner(const IndexerGatherParams& params,
                              std::int64_t row) {
    const int owner = RightGather::Owner(params, row);
    return owner < 0 && row >= params.starts[params.requests] ? 0 : owner;
  }
};

// The table's rows lie its columns apart.
CallResult GatherTableFromShape(const GatherArgs& args,
                                const LaunchContext& context) {
  DLTensor table = {};
  std::int64_t strides[2] = {};
  GatherArgs changed = args;
  if (args.block_table != nullptr && args.block_table->ndim == 2) {
    table = *args.block_table;
    strides[0] = table.shape[1];
    strides[1] = table.strides[1];
    table.strides = strides;
    changed.block_table = &table;
  }
  return CallIndexerGather<RightGather>(changed, context);
}

CompiledTarget Writer(const char* name, const char* what,
                      CallResult (*write)(const WriteArgs&,
                                          const LaunchContext&),
                      Contract (*contract)()) {
  return {.name = name,
          .what = what,
          .kernels = {.write = write},
          .contract = contract,
          .rest = "builtin:indexer"};
}

CompiledTarget Gatherer(const char* name, const char* what,
                        CallResult (*gather)(const GatherArgs&,
                                             const LaunchContext&)) {
  return {.name = name,
          .what = what,
          .kernels = {.gather = gather},
          .contract = [] { return BuiltinContract(INDEXER_132); },
          .rest = "builtin:indexer"};
}

Contract RawContract() { return BuiltinContract(INDEXER_132); }

}  // namespace

std::vector<CompiledTarget> IndexerMutants() {
  return {
      Writer("mutant:indexer-floor-on-scale",
             "indexer writer floors the scale at 1e-4, not amax",
             CallPageWriter<FloorOnScale>, RawContract),
      Writer("mutant:indexer-ue8m0-no-floor",
             "indexer writer rounds scales up to powers of two without a floor",
             CallPageWriter<NoFloorPow2>, Pow2Contract),
      Writer("mutant:indexer-fp16-bit-amax",
             "indexer writer takes fp16 patterns for magnitudes",
             CallPageWriter<RawBits>, RawContract),
      Writer("mutant:indexer-minus-one-only",
             "indexer writer skips only slot -1", CallPageWriter<OnlyMinusOne>,
             RawContract),
      Writer("mutant:indexer-scales-inline",
             "indexer writer stores each scale behind its token's codes",
             CallPageWriter<ScalesInline>, RawContract),
      Writer("mutant:indexer-entries-behind-64",
             "indexer writer takes pages to have at most 64 tokens",
             CallPageWriter<EntriesBehind64>, RawContract),
      Writer("mutant:indexer-dense-pages",
             "indexer writer takes pages to be dense",
             CallPageWriter<DensePages>, RawContract),
      Gatherer("mutant:indexer-codes-from-boundary",
               "indexer gather reads codes from the 16-byte boundary below",
               CallIndexerGather<CodesFromBoundary>),
      Gatherer("mutant:indexer-scales-by-code-stride",
               "indexer gather places scales by the stride of the codes",
               CallIndexerGather<ScalesByCodeStride>),
      Gatherer("mutant:indexer-reads-inline",
               "indexer gather reads each scale behind its token's codes",
               CallIndexerGather<ReadsInline>),
      Gatherer("mutant:indexer-rest-to-first",
               "indexer gather fills rows past the last request",
               CallIndexerGather<FirstOwnsRest>),
      Gatherer("mutant:indexer-table-row-from-shape",
               "indexer gather takes the table's row stride from its shape",
               GatherTableFromShape),
  };
}

}  // namespace mlafuzz
