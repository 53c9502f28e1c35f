// Controls: right, but made in another way. Their results are byte for byte
// builtin's, and no judge may flag them.
#include <algorithm>

#include "kernels/kernel_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::ConvertParams;
using kernels::ConvertPolicy;
using kernels::GatherParams;
using kernels::GatherPolicy;
using kernels::GatherTask;
using kernels::kLatent;
using kernels::kTailAt;
using kernels::kTile;
using kernels::kTiles;
using kernels::WriterParams;
using kernels::WriterPolicy;

simt::Config GridOf(std::int64_t blocks, unsigned lanes,
                    const LaunchContext& context) {
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(blocks));
  config.block = dim3(lanes);
  config.stream = StreamOf(context);
  config.schedule = {context.schedule};
  return config;
}

// --------------------------------------------------------------------- Writers

// Neighbours agree first. A maximum has no order.
struct NeighboursFirst : WriterPolicy {
  template <class Policy>
  static __device__ float TileMax(float amax) {
    for (int distance = 1; distance < 16; distance *= 2) {
      amax =
          Policy::Max(amax, __shfl_xor_sync(0xffffffffu, amax, distance, 16));
    }
    return amax;
  }
};

// Two bytes at a time, or one.
struct NarrowStores : WriterPolicy {
  static __device__ void StoreCodes(std::uint8_t* row, unsigned lane,
                                    uint2 codes) {
    for (unsigned i = 0; i < 4; ++i) {
      row[8 * lane + i] = static_cast<std::uint8_t>(codes.x >> 8 * i);
      row[8 * lane + 4 + i] = static_cast<std::uint8_t>(codes.y >> 8 * i);
    }
  }
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    const unsigned bits = __float_as_uint(scale);
    for (unsigned i = 0; i < 4; ++i) {
      row[kernels::kScaleAt + 4 * tile + i] =
          static_cast<std::uint8_t>(bits >> 8 * i);
    }
  }
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    std::uint16_t* tail = reinterpret_cast<std::uint16_t*>(row + kTailAt);
    for (unsigned i = lane; i < kernels::kRope; i += 32) {
      tail[i] = params.k_pe == nullptr
                    ? std::uint16_t{0}
                    : params.k_pe[token * params.k_pe_row_stride + i];
    }
  }
};

// A quotient without a division: a product with the correctly rounded
// reciprocal, and two steps that correct it by its exact remainder. The first
// leaves an error below a unit of the last place, the second none (Markstein,
// IBM Journal of Research and Development 34-1, 1990), as long as quotient and
// remainders are normal.
__device__ inline float CorrectedQuotient(float x, float y, float reciprocal) {
  float quotient = __fmul_rn(x, reciprocal);
  for (int i = 0; i < 2; ++i) {
    const float remainder = __fmaf_rn(-quotient, y, x);
    quotient = __fmaf_rn(remainder, reciprocal, quotient);
  }
  return quotient;
}

struct CorrectedDivision : WriterPolicy {
  // Of maxima whose quotient is not normal, the floor makes what it is.
  static __device__ float DivideBy448(float amax) {
    if (__float_as_uint(amax) >= 0x7f800000u) return amax;
    return CorrectedQuotient(amax, 448.0f, 1.0f / 448.0f);
  }
  // Below 2^-11 a quotient has code 0, whose sign is that of x, however exact
  // it is. Small scales are lifted, for remainders to be normal numbers.
  template <class Input>
  static __device__ unsigned Code(unsigned bits, float scale) {
    const float x = Input::ToFloat(bits);
    if (__float_as_uint(scale) >= 0x7f800000u || x != x) {
      return WriterPolicy::Code<Input>(bits, scale);
    }
    const float lift = scale < 0x1p-60f ? 0x1p60f : 1.0f;
    const float quotient = CorrectedQuotient(x * lift, scale * lift,
                                             __fdiv_rn(1.0f, scale * lift));
    return kernels::FloatToE4m3(copysignf(quotient, x));
  }
};

// A few blocks take turns with all rows, last one first; each row is one
// warp's, whose lanes take 16 values.
template <class Input>
__global__ void __launch_bounds__(128) WriteInTurns(WriterParams params) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * 4;
  for (std::int64_t i = std::int64_t{blockIdx.x} * 4 + warp; i < params.tokens;
       i += warps) {
    const std::int64_t token = params.tokens - 1 - i;
    const std::int64_t slot = params.slots[token];
    if (WriterPolicy::Skips(slot)) continue;
    std::uint8_t* row = WriterPolicy::Row(params, slot);
    const unsigned* values = reinterpret_cast<const unsigned*>(
        params.kv_c + token * params.kv_c_row_stride);
    for (unsigned tile = 0; tile < kTiles; ++tile) {
      const unsigned* pairs = values + tile * (kTile / 2);
      float amax = kernels::PairMax<WriterPolicy, Input>(0.0f, pairs[lane]);
      amax = kernels::PairMax<WriterPolicy, Input>(amax, pairs[32 + lane]);
      for (int distance = 1; distance < 32; distance *= 2) {
        amax = WriterPolicy::Max(amax,
                                 __shfl_xor_sync(0xffffffffu, amax, distance));
      }
      const float scale =
          WriterPolicy::Scale<WriterPolicy>(amax, params.pow2_scale);
      reinterpret_cast<unsigned*>(row + tile * kTile)[lane] =
          kernels::FourCodes<WriterPolicy, Input>(pairs[2 * lane],
                                                  pairs[2 * lane + 1], scale);
      if (lane == tile) WriterPolicy::StoreScale(row, tile, scale);
    }
    WriterPolicy::WriteTail(params, token, row, lane);
  }
}

CallResult WriterInTurns(const WriteArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseWrite(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const WriterParams params = ToParams(args);
  if (params.tokens == 0) return CallResult::Ok();
  const simt::Config config =
      GridOf(std::min<std::int64_t>(3, (params.tokens + 3) / 4), 128, context);
  return ToCallResult(
      params.fp16
          ? simt::launch(config, WriteInTurns<kernels::Fp16Input>, params)
          : simt::launch(config, WriteInTurns<kernels::Bf16Input>, params));
}

// --------------------------------------------------------------------- Gathers

// One warp a task, that finds it in every lane; a page's rows from the last to
// the first, two values at a time; scales straight from the row.
__global__ void GatherBackwards(GatherParams params) {
  const GatherTask task = kernels::FindTask<GatherPolicy>(params, blockIdx.x);
  for (std::int64_t i = task.count - 1; i >= 0; --i) {
    const std::uint8_t* row =
        GatherPolicy::Row(params, task.page, task.offset + i);
    unsigned* out = reinterpret_cast<unsigned*>(
        params.dst + (task.first + i) * params.dst_row_stride);
    for (unsigned pair = threadIdx.x; pair < kLatent / 2; pair += 32) {
      out[pair] =
          kernels::TwoValues(reinterpret_cast<const std::uint16_t*>(row)[pair],
                             GatherPolicy::Scale(row, pair / (kTile / 2)));
    }
    out[kLatent / 2 + threadIdx.x] =
        GatherPolicy::TailPair(row, threadIdx.x, params.nope);
  }
}

// Two blocks take turns with all tasks.
__global__ void GatherInTurns(GatherParams params, std::int64_t tasks) {
  for (std::int64_t t = blockIdx.x; t < tasks; t += gridDim.x) {
    const GatherTask task = kernels::FindTask<GatherPolicy>(params, t);
    for (std::int64_t i = threadIdx.x / 32; i < task.count;
         i += blockDim.x / 32) {
      const unsigned lane = threadIdx.x % 32;
      const std::uint8_t* row =
          GatherPolicy::Row(params, task.page, task.offset + i);
      std::uint16_t* out =
          params.dst + (task.first + i) * params.dst_row_stride;
      for (unsigned chunk = lane; chunk < kLatent / 8; chunk += 32) {
        const uint2 codes = reinterpret_cast<const uint2*>(row)[chunk];
        const float scale = GatherPolicy::Scale(row, chunk / (kTile / 8));
        GatherPolicy::StoreValues(
            out, chunk,
            make_uint4(kernels::TwoValues(codes.x, scale),
                       kernels::TwoValues(codes.x >> 16, scale),
                       kernels::TwoValues(codes.y, scale),
                       kernels::TwoValues(codes.y >> 16, scale)));
      }
      GatherPolicy::StoreTail(out, lane,
                              GatherPolicy::TailPair(row, lane, params.nope),
                              params.nope);
    }
  }
}

template <class Launch>
CallResult GatherBy(const GatherArgs& args, Launch launch) {
  if (std::string why = WhyRefuseGather(args); !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const GatherParams params = ToParams(args);
  if (params.dst_rows == 0 || params.requests == 0) return CallResult::Ok();
  return ToCallResult(launch(params, GatherPolicy::Blocks(params)));
}

CallResult GatherFromBehind(const GatherArgs& args,
                            const LaunchContext& context) {
  return GatherBy(args, [&context](const GatherParams& params,
                                   std::int64_t tasks) {
    return simt::launch(GridOf(tasks, 32, context), GatherBackwards, params);
  });
}

CallResult GatherByTwo(const GatherArgs& args, const LaunchContext& context) {
  return GatherBy(args, [&context](const GatherParams& params,
                                   std::int64_t tasks) {
    return simt::launch(GridOf(std::min<std::int64_t>(tasks, 2), 64, context),
                        GatherInTurns, params, tasks);
  });
}

// Codes by arithmetic on their parts; exact, as every value has four bits.
struct CodesByParts : GatherPolicy {
  static __device__ unsigned Value(unsigned code, float scale) {
    const unsigned exponent = code >> 3 & 15u, fraction = code & 7u;
    const float magnitude = exponent == 0
                                ? static_cast<float>(fraction) * 0x1p-9f
                                : static_cast<float>(fraction + 8u) *
                                      __uint_as_float((exponent + 117u) << 23);
    const float value =
        (code & 0x7fu) == 0x7fu ? __uint_as_float(0x7fc00000u) : magnitude;
    return kernels::FloatToBf16(
        __fmul_rn((code & 0x80u) != 0 ? -value : value, scale));
  }
  static __device__ unsigned Values(unsigned codes, float scale) {
    return Value(codes & 0xffu, scale) | Value(codes >> 8 & 0xffu, scale) << 16;
  }
};

// ------------------------------------------------------------ Index conversion

CallResult ConvertByOneWarp(const ConvertArgs& args,
                            const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  return ToCallResult(simt::launch(GridOf(params.rows, 32, context),
                                   kernels::ConvertRows<ConvertPolicy>,
                                   params));
}

// The quotient in floating point, then what it is off by. Of tokens below 0
// nobody asks.
struct EstimatedDivision : ConvertPolicy {
  static __device__ std::int64_t Column(const ConvertParams& params,
                                        std::int64_t token) {
    std::int64_t column = static_cast<std::int64_t>(
        static_cast<float>(token) / static_cast<float>(params.page_size));
    while (column * params.page_size > token) --column;
    while ((column + 1) * params.page_size <= token) ++column;
    return column;
  }
};

}  // namespace

std::vector<CompiledTarget> Controls() {
  return {
      {"control:amax-neighbours-first",
       "right: the writer's lanes agree with their neighbours first",
       {.write = CallWriter<NeighboursFirst>}},
      {"control:narrow-stores",
       "right: the writer stores a byte or two at a time",
       {.write = CallWriter<NarrowStores>}},
      {"control:corrected-division",
       "right: the writer multiplies by reciprocals and corrects that",
       {.write = CallWriter<CorrectedDivision>}},
      {"control:writer-in-turns",
       "right: a few blocks of the writer take turns with all rows",
       {.write = WriterInTurns}},
      {"control:gather-backwards",
       "right: the gather takes a page's rows from the last to the first",
       {.gather = GatherFromBehind}},
      {"control:gather-in-turns",
       "right: two blocks of the gather take turns with all pages",
       {.gather = GatherByTwo}},
      {"control:gather-codes-by-parts",
       "right: the gather computes a code's value from its parts",
       {.gather = CallGather<CodesByParts>}},
      {"control:convert-by-one-warp",
       "right: one warp of the index conversion takes a row of any width",
       {.convert = ConvertByOneWarp}},
      {"control:convert-estimated-division",
       "right: the index conversion divides in floating point and corrects it",
       {.convert = CallConvert<EstimatedDivision>}},
  };
}

}  // namespace mlafuzz
