// Where a row, an index or a query lies.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeOutput;
using kernels::DecodeParams;
using kernels::DecodePolicy;

void PageStrideDense(DecodeParams& params) {
  params.page_stride = params.page_size * params.row_stride;
}
void RowStrideDense(DecodeParams& params) {
  params.row_stride = kernels::kRowBytes;
}
void PagesOf64(DecodeParams& params) { params.page_size = 64; }
void PagesOfTwo(DecodeParams& params) {
  params.page_size += params.page_size % 2;
}
void IndexRowsDense(DecodeParams& params) {
  params.indices_row_stride = params.width;
}
void FirstIndexRowForAll(DecodeParams& params) {
  params.indices_row_stride = 0;
}
void FirstHeadForAll(DecodeParams& params) { params.q_head_stride = 0; }

// Wraps at 64 KiB, as 32 bits do at 4 GiB.
struct OffsetIn16Bits : DecodePolicy {
  static __device__ std::int64_t RowAt(const DecodeParams& params,
                                       std::int32_t slot) {
    return static_cast<std::uint16_t>(DecodePolicy::RowAt(params, slot));
  }
};

struct SlotsFromOne : DecodePolicy {
  static __device__ std::int32_t Slot(const DecodeParams& params,
                                      std::int64_t query, std::int64_t lane) {
    const std::int32_t slot = DecodePolicy::Slot(params, query, lane);
    return slot > 0 ? slot - 1 : slot;
  }
};

// The grid's number is cut by the number of queries, not by that of heads.
struct WrongDivisor : DecodePolicy {
  static __device__ DecodeOutput OutputAt(const DecodeParams& params,
                                          std::int64_t i) {
    return {i % params.queries, i / params.queries};
  }
};

}  // namespace

std::vector<CompiledDecode> AddressFaults() {
  return {
      DecodeHostTwin<PageStrideDense>("mutant:page-stride-dense",
                                      "decode takes pages for adjacent"),
      DecodeHostTwin<RowStrideDense>("mutant:row-stride-dense",
                                     "decode takes rows for adjacent"),
      DecodeHostTwin<PagesOf64>("mutant:pages-of-64",
                                "decode cuts slots into pages of 64 whatever "
                                "their size"),
      DecodeHostTwin<PagesOfTwo>("mutant:page-size-rounded-up",
                                 "decode rounds the page size up to an even "
                                 "number"),
      DecodeTwin<OffsetIn16Bits>("mutant:row-offset-wraps",
                                 "decode keeps row offsets in too few bits"),
      DecodeTwin<SlotsFromOne>("mutant:slot-off-by-one",
                               "decode counts slots from 1"),
      DecodeHostTwin<IndexRowsDense>("mutant:index-rows-dense",
                                     "decode takes index rows for adjacent"),
      DecodeHostTwin<FirstIndexRowForAll>("mutant:index-row-of-first-query",
                                          "decode takes the first query's "
                                          "indices for all"),
      DecodeHostTwin<FirstHeadForAll>("mutant:query-of-first-head",
                                      "decode takes the first head's query for "
                                      "all"),
      DecodeTwin<WrongDivisor>("mutant:grid-wrong-divisor",
                               "decode cuts the grid by queries where it is "
                               "cut by heads"),
  };
}

}  // namespace mlafuzz
