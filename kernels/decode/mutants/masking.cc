// Which candidates are keys.
#include "kernels/decode/mutants/families.h"
#include "kernels/decode/mutants/twin.h"

namespace mlafuzz {
namespace {

using kernels::DecodeParams;
using kernels::DecodePolicy;

// Other negative indices are divided as unsigned numbers.
struct MinusOneAlone : DecodePolicy {
  static __device__ bool IsKey(std::int32_t slot, std::int64_t lane,
                               std::int64_t length) {
    return lane < length && slot != -1;
  }
  static __device__ std::int64_t RowAt(const DecodeParams& params,
                                       std::int32_t slot) {
    const std::int64_t row = static_cast<std::uint32_t>(slot);
    return row / params.page_size * params.page_stride +
           row % params.page_size * params.row_stride;
  }
};

struct LengthInclusive : DecodePolicy {
  static __device__ bool IsKey(std::int32_t slot, std::int64_t lane,
                               std::int64_t length) {
    return lane <= length && slot >= 0;
  }
};

// The place where lengths stop to count, in one dimension or another.
struct IgnoredFromTwoQueries : DecodePolicy {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    return params.queries >= 2 ? params.lanes
                               : DecodePolicy::Length(params, query);
  }
};
struct IgnoredPastOneBlock : DecodePolicy {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    return params.lanes > kernels::kBlockKeys
               ? params.lanes
               : DecodePolicy::Length(params, query);
  }
};

// What fits a list that is padded at its end alone.
struct FirstMaskedEndsRow : DecodePolicy {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    const std::int64_t length = DecodePolicy::Length(params, query);
    const std::int64_t end = length < params.lanes ? length : params.lanes;
    for (std::int64_t lane = 0; lane < end; ++lane) {
      if (Slot(params, query, lane) < 0) return lane;
    }
    return end;
  }
};
struct CountAsLength : DecodePolicy {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    const std::int64_t length = DecodePolicy::Length(params, query);
    const std::int64_t end = length < params.lanes ? length : params.lanes;
    std::int64_t keys = 0;
    for (std::int64_t lane = 0; lane < end; ++lane) {
      keys += Slot(params, query, lane) >= 0 ? 1 : 0;
    }
    return keys;
  }
};

// A masked lane has score 0, not -Inf, and no values.
struct MaskedScoreZero : DecodePolicy {
  static __device__ float MaskedScore() { return 0.0f; }
};

// Lanes past the length raise the maximum; then they weigh nothing and are not
// read.
struct TailJoinsMax : DecodePolicy {
  static __device__ bool IsKey(std::int32_t slot, std::int64_t, std::int64_t) {
    return slot >= 0;
  }
  static __device__ float KeyWeight(const kernels::SplitMemory& shared, int key,
                                    std::int64_t live, float weight) {
    if (key < live) return weight;
    shared.rows[key] = -1;
    return 0.0f;
  }
};

struct ZeroForNoLength : DecodePolicy {
  static __device__ std::int64_t Length(const DecodeParams& params,
                                        std::int64_t query) {
    const std::int64_t length = DecodePolicy::Length(params, query);
    return length == 0 ? params.lanes : length;
  }
};

void OneLengthForAll(DecodeParams& params) { params.lengths_stride = 0; }

}  // namespace

std::vector<CompiledDecode> MaskingFaults() {
  return {
      DecodeTwin<MinusOneAlone>("mutant:minus-one-alone-masked",
                                "decode masks -1 and no other negative index"),
      DecodeTwin<LengthInclusive>("mutant:length-inclusive",
                                  "decode counts one candidate past the "
                                  "length"),
      DecodeTwin<IgnoredFromTwoQueries>("mutant:length-ignored-from-2-queries",
                                        "decode ignores lengths from two "
                                        "queries on"),
      DecodeTwin<IgnoredPastOneBlock>("mutant:length-ignored-past-64-lanes",
                                      "decode ignores lengths of rows wider "
                                      "than 64"),
      DecodeTwin<FirstMaskedEndsRow>("mutant:first-masked-ends-row",
                                     "decode ends a row at its first masked "
                                     "lane"),
      DecodeTwin<ZeroForNoLength>("mutant:length-zero-for-none",
                                  "decode takes a length of 0 for none"),
      DecodeTwin<CountAsLength>("mutant:valid-count-as-length",
                                "decode takes the number of keys for the "
                                "length"),
      DecodeTwin<MaskedScoreZero>("mutant:masked-score-zero",
                                  "decode gives masked lanes a score of 0"),
      DecodeTwin<TailJoinsMax>("mutant:tail-lanes-join-max",
                               "decode lets lanes past the length raise the "
                               "maximum"),
      DecodeHostTwin<OneLengthForAll>("mutant:length-of-first-query",
                                      "decode takes the first query's length "
                                      "for all"),
  };
}

}  // namespace mlafuzz
