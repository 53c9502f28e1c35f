// Wrong twins of the gathers that take no tile scales.
#include <string_view>

#include "corpus/contracts.h"
#include "kernels/layouts/formats.h"
#include "kernels/layouts/layouts.h"
#include "kernels/layouts/mutants/mutants.h"
#include "kernels/layouts/row_gather_calls.h"

namespace mlafuzz {
namespace {

using kernels::GatherParams;
using Dsv4Bytes = kernels::ByteGatherPolicy<DSV4_FOOTER_584, 576, 8>;
using RowBytes = kernels::ByteGatherPolicy<FP8_DS_MLA, 656, 0>;
using kernels::OneScaleGatherPolicy;

// Tokens at multiples of their bytes, as where rows hold all of them.
struct AtPitch : Dsv4Bytes {
  static __device__ const std::uint8_t* Byte(const GatherParams& params,
                                             std::int64_t page,
                                             std::int64_t row,
                                             std::int64_t at) {
    return params.cache + page * params.page_stride + row * kTokenBytes + at;
  }
};

// Entries behind 64 rows, whatever the page's size.
struct EntriesBehind64 : Dsv4Bytes {
  static __device__ const std::uint8_t* Byte(const GatherParams& params,
                                             std::int64_t page,
                                             std::int64_t row,
                                             std::int64_t at) {
    if (at < kRowBytes) return Dsv4Bytes::Byte(params, page, row, at);
    const std::int64_t rows = params.page_size < 64 ? params.page_size : 64;
    return params.cache + page * params.page_stride + rows * kRowBytes +
           row * (kTokenBytes - kRowBytes) + (at - kRowBytes);
  }
};

// Rows of a page are taken to be dense.
struct DenseRows : RowBytes {
  static __device__ const std::uint8_t* Byte(const GatherParams& params,
                                             std::int64_t page,
                                             std::int64_t row,
                                             std::int64_t at) {
    return params.cache + page * params.page_stride + row * kTokenBytes + at;
  }
};

// The scale is left out, as of a cache that was never scaled.
struct NoScale : OneScaleGatherPolicy {
  static __device__ float Scale(const GatherParams&) { return 1.0f; }
};

// What the right ones promise.
Contract ContractOf(std::string_view right) {
  for (const CompiledTarget& target : RowGatherTargets()) {
    if (target.name == right) return target.contract();
  }
  return BuiltinContract();
}
Contract OfBytes() { return ContractOf("builtin:byte-gather"); }
Contract OfDsv4Bytes() { return ContractOf("builtin:dsv4-byte-gather"); }
Contract OfOneScale() { return ContractOf("builtin:one-scale-gather"); }

// `rest`: whose the other kernels are.
CompiledTarget Twin(const char* name, const char* what,
                    CallResult (*gather)(const GatherArgs&,
                                         const LaunchContext&),
                    Contract (*contract)(), const char* rest = "builtin") {
  return {.name = name,
          .what = what,
          .kernels = {.gather = gather},
          .contract = contract,
          .rest = rest};
}

}  // namespace

std::vector<CompiledTarget> RowGatherMutants() {
  return {
      Twin("mutant:byte-gather-dense-rows",
           "byte gather takes rows of a page to be dense",
           CallByteGather<DenseRows>, OfBytes),
      Twin("mutant:byte-gather-at-pitch",
           "byte gather of a footer page as if rows held it all",
           CallByteGather<AtPitch>, OfDsv4Bytes, "builtin:dsv4"),
      Twin("mutant:byte-gather-entries-behind-64",
           "byte gather looks for footers behind 64 rows",
           CallByteGather<EntriesBehind64>, OfDsv4Bytes, "builtin:dsv4"),
      Twin("mutant:one-scale-dropped", "gather by one scale leaves it out",
           CallOneScaleGather<NoScale>, OfOneScale),
      Twin("mutant:one-scale-takes-656",
           "gather by one scale takes rows with scales of their own",
           CallOneScaleGather<OneScaleGatherPolicy, false>, OfOneScale),
  };
}

}  // namespace mlafuzz
