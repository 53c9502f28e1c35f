// Wrong writers: the row's tail.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::kTailAt;
using kernels::WriterParams;
using kernels::WriterPolicy;

// The pair of rope values of a lane.
__device__ inline unsigned Pair(const WriterParams& params, std::int64_t token,
                                unsigned lane) {
  return reinterpret_cast<const unsigned*>(
      params.k_pe + token * params.k_pe_row_stride)[lane];
}

__device__ inline void StorePair(std::uint8_t* row, unsigned lane,
                                 unsigned pair) {
  reinterpret_cast<unsigned*>(row + kTailAt)[lane] = pair;
}

// Whatever comes becomes bf16: right for bf16, wrong for fp16.
struct AlwaysBf16 : WriterPolicy {
  static __device__ unsigned ToBf16(unsigned bits) {
    return kernels::FloatToBf16(kernels::Fp16ToFloat(bits));
  }
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr || !params.fp16) {
      WriterPolicy::WriteTail(params, token, row, lane);
      return;
    }
    const unsigned pair = Pair(params, token, lane);
    StorePair(row, lane, ToBf16(pair & 0xffffu) | ToBf16(pair >> 16) << 16);
  }
};

// The values pass through a register of floats: a NaN loses its payload.
struct QuietsNans : WriterPolicy {
  static __device__ unsigned Quiet(unsigned bits) {
    return (bits & 0x7fffu) > 0x7f80u ? 0x7fffu : bits;
  }
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr || params.fp16) {
      WriterPolicy::WriteTail(params, token, row, lane);
      return;
    }
    const unsigned pair = Pair(params, token, lane);
    StorePair(row, lane, Quiet(pair & 0xffffu) | Quiet(pair >> 16) << 16);
  }
};

// The lanes of the last tile copy over the tail as well; which store comes last
// is a matter of luck.
struct OverlappingStores : WriterPolicy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    WriterPolicy::StoreCodes(row, lane, codes);
    if (lane >= 48) {
      reinterpret_cast<uint2*>(row + kTailAt)[lane - 48] = codes;
    }
  }
};

struct SwapsPair : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr) {
      WriterPolicy::WriteTail(params, token, row, lane);
      return;
    }
    const unsigned pair = Pair(params, token, lane);
    StorePair(row, lane, pair << 16 | pair >> 16);
  }
};

// Even values first, then odd ones: the other way to lay out rotated pairs.
struct Deinterleaves : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr) {
      WriterPolicy::WriteTail(params, token, row, lane);
      return;
    }
    const unsigned pair = Pair(params, token, lane);
    std::uint16_t* tail = reinterpret_cast<std::uint16_t*>(row + kTailAt);
    tail[lane] = static_cast<std::uint16_t>(pair);
    tail[32 + lane] = static_cast<std::uint16_t>(pair >> 16);
  }
};

// The last lane copies nothing.
struct DropsLastPair : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (lane < 31) WriterPolicy::WriteTail(params, token, row, lane);
  }
};

// Of a row without rope, half of the tail is cleared: 64 bytes, not 64 values.
struct ClearsHalf : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    if (params.k_pe == nullptr && lane >= 16) return;
    WriterPolicy::WriteTail(params, token, row, lane);
  }
};

// The tail begins where the codes end: the scales are not counted.
struct TailTooEarly : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    WriterPolicy::WriteTail(params, token, row - 16, lane);
  }
};

// The loop that clears tails ends one row short of its page.
struct LastTailKept : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    const std::int64_t place = params.slots[token] % params.page_size;
    if (params.k_pe == nullptr && place > 0 && place == params.page_size - 1) {
      return;
    }
    WriterPolicy::WriteTail(params, token, row, lane);
  }
};

}  // namespace

std::vector<CompiledTarget> WriterRopeMutants() {
  return {
      {"mutant:rope-to-bf16",
       "writer stores fp16 rope as bf16",
       {.write = CallWriter<AlwaysBf16>}},
      {"mutant:rope-quiets-nans",
       "writer stores every NaN of the rope as 0x7fff",
       {.write = CallWriter<QuietsNans>}},
      {"mutant:rope-overlapping-stores",
       "writer stores codes over the tail, in no order with the rope",
       {.write = CallWriter<OverlappingStores>}},
      {"mutant:rope-pairs-swapped",
       "writer swaps the values of each pair of rope values",
       {.write = CallWriter<SwapsPair>}},
      {"mutant:rope-deinterleaved",
       "writer stores even rope values first, then odd ones",
       {.write = CallWriter<Deinterleaves>}},
      {"mutant:rope-last-dropped",
       "writer does not store the last two rope values",
       {.write = CallWriter<DropsLastPair>}},
      {"mutant:tail-half-cleared",
       "writer clears 64 of the 128 tail bytes of a row without rope",
       {.write = CallWriter<ClearsHalf>}},
      {"mutant:tail-kept-in-last-row",
       "writer clears no tail in the last row of a page",
       {.write = CallWriter<LastTailKept>}},
      {"mutant:rope-over-scales",
       "writer stores the rope 16 bytes early, over the scales",
       {.write = CallWriter<TailTooEarly>}},
      {"mutant:k-pe-stride-from-shape",
       "writer steps through k_pe by its columns",
       {.write =
            [](const WriteArgs& args, const LaunchContext& context) {
              return WriteChanged(args, context, [](WriterParams& params) {
                params.k_pe_row_stride = kernels::kRope;
              });
            }}},
  };
}

}  // namespace mlafuzz
