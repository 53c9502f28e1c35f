// Wrong writers: which row of which page, from which row of the source.
#include <algorithm>

#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::WriterParams;
using kernels::WriterPolicy;

// Slot -1 is the row in front of page 0.
struct NothingSkipped : WriterPolicy {
  static __device__ bool Skips(std::int64_t) { return false; }
};

// Slot -1 is the last row of page -1.
struct PageMinusOne : WriterPolicy {
  static __device__ bool Skips(std::int64_t) { return false; }
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    const std::int64_t size = params.page_size;
    const std::int64_t page = (slot - (slot < 0 ? size - 1 : 0)) / size;
    return params.cache + page * params.page_stride +
           (slot - page * size) * params.row_stride;
  }
};

// Padding goes to a slot of its own, which is somebody's.
struct PaddingInSlot0 : WriterPolicy {
  static __device__ bool Skips(std::int64_t) { return false; }
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return WriterPolicy::Row(params, slot < 0 ? 0 : slot);
  }
};

// Slot 0 counts as padding.
struct SkipsSlot0 : WriterPolicy {
  static __device__ bool Skips(std::int64_t slot) { return slot <= 0; }
};

// A slot's number in 32 bits: -2^32 is slot 0.
struct Int32Slots : WriterPolicy {
  static __device__ bool Skips(std::int64_t slot) {
    return static_cast<std::int32_t>(slot) < 0;
  }
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return WriterPolicy::Row(params, static_cast<std::int32_t>(slot));
  }
};

// The page's offset is kept in an integer that is too narrow. Where it was met
// that had 32 bits; 16 are as many for pools that fit into a test.
struct NarrowProduct : WriterPolicy {
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    const auto page = static_cast<std::uint16_t>(slot / params.page_size *
                                                 params.page_stride);
    return params.cache + page + slot % params.page_size * params.row_stride;
  }
};

// Offsets in units of 16 bytes, as wide stores want them: what is no multiple
// is cut off.
struct Offset16 : WriterPolicy {
  static __device__ std::uint8_t* Row(const WriterParams& params,
                                      std::int64_t slot) {
    return params.cache +
           (WriterPolicy::Row(params, slot) - params.cache) / 16 * 16;
  }
};

// Two words more than a row has.
struct StoresPastRow : WriterPolicy {
  static __device__ void WriteTail(const WriterParams& params,
                                   std::int64_t token, std::uint8_t* row,
                                   unsigned lane) {
    WriterPolicy::WriteTail(params, token, row, lane);
    if (lane < 2) {
      reinterpret_cast<unsigned*>(row + kernels::kRowBytes)[lane] = 0;
    }
  }
};

// A row's end is counted from 1.
struct ClearsRowGap : WriterPolicy {
  static __device__ void StoreScale(std::uint8_t* row, unsigned tile,
                                    float scale) {
    WriterPolicy::StoreScale(row, tile, scale);
    if (tile == 3) row[kernels::kRowBytes] = 0;
  }
};

CallResult PageStrideFromShape(const WriteArgs& args,
                               const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.page_stride = params.page_size * params.row_stride;
  });
}

CallResult RowStrideFromShape(const WriteArgs& args,
                              const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.row_stride = kernels::kRowBytes;
  });
}

CallResult KvStrideFromShape(const WriteArgs& args,
                             const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.kv_c_row_stride = kernels::kLatent;
  });
}

CallResult ShiftedPages(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.page_size = ShiftedPageSize(params.page_size);
  });
}

CallResult PagesOf64(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context,
                      [](WriterParams& params) { params.page_size = 64; });
}

// The kernel's own pages have an even number of rows.
CallResult EvenPages(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.page_size += params.page_size % 2;
  });
}

// The grid comes from the longer list: slots are read past their end.
CallResult GridFromSource(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [&args](WriterParams& params) {
    params.tokens = args.kv_c->shape[0];
  });
}

CallResult LastTokenDropped(const WriteArgs& args,
                            const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    if (params.tokens > 1) --params.tokens;
  });
}

// A grid that holds 64 tokens, and a kernel that takes one a block.
CallResult GridOf64(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [](WriterParams& params) {
    params.tokens = std::min<std::int64_t>(params.tokens, 64);
  });
}

// Each token's values from the row behind its own.
CallResult SourceOffByOne(const WriteArgs& args, const LaunchContext& context) {
  return WriteChanged(args, context, [&args](WriterParams& params) {
    if (args.kv_c->shape[0] > params.tokens) {
      params.kv_c += params.kv_c_row_stride;
    }
  });
}

}  // namespace

std::vector<CompiledTarget> WriterAddressMutants() {
  return {
      {"mutant:slot-none-skipped",
       "writer takes every negative slot for an address",
       {.write = CallWriter<NothingSkipped>}},
      {"mutant:slot-page-minus-one",
       "writer takes slot -1 for the last row of page -1",
       {.write = CallWriter<PageMinusOne>}},
      {"mutant:slot-padding-in-0",
       "writer stores padding in slot 0",
       {.write = CallWriter<PaddingInSlot0>}},
      {"mutant:slot-0-skipped",
       "writer takes slot 0 for padding",
       {.write = CallWriter<SkipsSlot0>}},
      {"mutant:slot-int32",
       "writer keeps 32 bits of a slot's number",
       {.write = CallWriter<Int32Slots>}},
      {"mutant:writer-narrow-product",
       "writer keeps 16 bits of a page's offset",
       {.write = CallWriter<NarrowProduct>}},
      {"mutant:writer-offset-16",
       "writer cuts a row's offset to a multiple of 16 bytes",
       {.write = CallWriter<Offset16>}},
      {"mutant:writer-past-row",
       "writer stores 8 bytes past the row",
       {.write = CallWriter<StoresPastRow>}},
      {"mutant:writer-clears-gap",
       "writer clears the first byte behind the row",
       {.write = CallWriter<ClearsRowGap>}},
      {"mutant:writer-page-stride-from-shape",
       "writer takes pages to be dense",
       {.write = PageStrideFromShape}},
      {"mutant:writer-row-stride-from-shape",
       "writer takes rows of a page to be dense",
       {.write = RowStrideFromShape}},
      {"mutant:kv-c-stride-from-shape",
       "writer steps through kv_c by its columns",
       {.write = KvStrideFromShape}},
      {"mutant:writer-shifted-pages",
       "writer divides slots by the power of two below the page size",
       {.write = ShiftedPages}},
      {"mutant:writer-pages-of-64",
       "writer divides slots by 64",
       {.write = PagesOf64}},
      {"mutant:writer-even-pages",
       "writer rounds the page size up to an even number",
       {.write = EvenPages}},
      {"mutant:writer-grid-from-source",
       "writer takes its number of tokens from kv_c",
       {.write = GridFromSource}},
      {"mutant:writer-last-token-dropped",
       "writer stops before the last of several tokens",
       {.write = LastTokenDropped}},
      {"mutant:writer-grid-of-64",
       "writer drops the tokens behind the 64th",
       {.write = GridOf64}},
      {"mutant:writer-source-off-by-one",
       "writer takes a padded kv_c to start at its second row",
       {.write = SourceOffByOne}},
  };
}

}  // namespace mlafuzz
