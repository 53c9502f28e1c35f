// Wrong index conversions.
#include "kernels/kernel_calls.h"
#include "kernels/mutants/changed_calls.h"
#include "kernels/mutants/mutants.h"

namespace mlafuzz {
namespace {

using kernels::ConvertParams;
using kernels::ConvertPolicy;

// An index that names no slot leaves the output as it was.
struct Untouched : ConvertPolicy {
  template <class Policy>
  static __device__ void Store(std::int32_t* out, bool valid,
                               std::int32_t slot) {
    if (valid) *out = slot;
  }
};

// Negative indices but -1 are divided like others.
struct MinusOneOnly : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token != -1 && column < params.table_columns;
  }
};

struct ColumnsUnchecked : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams&, std::int64_t token,
                                 std::int64_t) {
    return token >= 0;
  }
};

// Compared with the row stride of the table.
struct ColumnsByStride : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token >= 0 && column < params.table_row_stride;
  }
};

struct OneColumnMore : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token >= 0 && column <= params.table_columns;
  }
};

// The last column of the table counts as past it.
struct OneColumnLess : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token >= 0 &&
           (column < params.table_columns - 1 || params.table_columns == 1) &&
           column < params.table_columns;
  }
};

// Token 0 counts as padding.
struct TokenZeroInvalid : ConvertPolicy {
  static __device__ bool IsValid(const ConvertParams& params,
                                 std::int64_t token, std::int64_t column) {
    return token > 0 && column < params.table_columns;
  }
};

// What is past the table counts too.
struct CountsNonNegative : ConvertPolicy {
  static __device__ bool Counts(bool, std::int64_t token) { return token >= 0; }
};

// The page's number alone: no offset in it.
struct PageStart : ConvertPolicy {
  static __device__ std::int32_t Slot(const ConvertParams& params,
                                      std::int32_t page, std::int64_t) {
    return kernels::SlotOf(page, 0, params.page_size);
  }
};

// The pool's blocks are taken to be twice as long as the table's.
struct LongBlocks : ConvertPolicy {
  static __device__ std::int32_t Slot(const ConvertParams& params,
                                      std::int32_t page, std::int64_t token) {
    return kernels::SlotOf(page, token % params.page_size,
                           2 * params.page_size);
  }
};

// Tokens pass through untranslated.
struct Untranslated : ConvertPolicy {
  static __device__ std::int32_t Slot(const ConvertParams&, std::int32_t,
                                      std::int64_t token) {
    return static_cast<std::int32_t>(token);
  }
};

// A slot's number in 8 bits. Where it was met it had 32; a pool that fits into
// a test has some hundred slots.
struct NarrowSlots : ConvertPolicy {
  static __device__ std::int32_t Slot(const ConvertParams& params,
                                      std::int32_t page, std::int64_t token) {
    return static_cast<std::uint8_t>(ConvertPolicy::Slot(params, page, token));
  }
};

// A ceiling where a floor belongs.
struct RoundsUp : ConvertPolicy {
  static __device__ std::int64_t Column(const ConvertParams& params,
                                        std::int64_t token) {
    return (token + params.page_size - 1) / params.page_size;
  }
};

// Counts are summed before all warps have stored theirs.
struct CountsUnpublished : ConvertPolicy {
  static __device__ void PublishCounts() {}
};

// Valid entries first, in their order.
__global__ void Compact(ConvertParams params) {
  if (threadIdx.x != 0) return;
  const std::int64_t row = blockIdx.x;
  const std::int32_t* table =
      params.table +
      std::int64_t{params.request_ids[row]} * params.table_row_stride;
  std::int32_t* out = params.out + row * params.out_row_stride;
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < params.width; ++i) {
    const std::int64_t token =
        params.tokens[row * params.tokens_row_stride + i];
    const std::int64_t column = token / params.page_size;
    if (!ConvertPolicy::IsValid(params, token, column)) continue;
    out[count++] = ConvertPolicy::Slot(params, table[column], token);
  }
  for (std::int64_t i = count; i < params.width; ++i) out[i] = -1;
  if (params.valid_count != nullptr) params.valid_count[row] = count;
}

CallResult Compacts(const ConvertArgs& args, const LaunchContext& context) {
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const ConvertParams params = ToParams(args);
  if (params.rows == 0) return CallResult::Ok();
  simt::Config config;
  config.grid = dim3(static_cast<unsigned>(params.rows));
  config.block = dim3(32);
  config.stream = StreamOf(context);
  config.schedule = {context.schedule};
  return ToCallResult(simt::launch(config, Compact, params));
}

CallResult TableRowFromShape(const ConvertArgs& args,
                             const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.table_row_stride = params.table_columns;
  });
}

CallResult FirstTableRow(const ConvertArgs& args,
                         const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.table_row_stride = 0;
  });
}

CallResult TokensStrideFromShape(const ConvertArgs& args,
                                 const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.tokens_row_stride = params.width;
  });
}

CallResult OutStrideFromShape(const ConvertArgs& args,
                              const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.out_row_stride = params.width;
  });
}

CallResult PagesOf64(const ConvertArgs& args, const LaunchContext& context) {
  return ConvertChanged(args, context,
                        [](ConvertParams& params) { params.page_size = 64; });
}

CallResult ShiftedPages(const ConvertArgs& args, const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.page_size = ShiftedPageSize(params.page_size);
  });
}

// The last entries of a width that is no multiple of 8 are left out.
CallResult WholeEights(const ConvertArgs& args, const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.width -= params.width % 8;
  });
}

// The width is the model's number, whatever the buffer's.
CallResult WidthOf128(const ConvertArgs& args, const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    if (params.width > 128) params.width = 128;
  });
}

CallResult LastRowDropped(const ConvertArgs& args,
                          const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    if (params.rows > 1) --params.rows;
  });
}

CallResult NoCounts(const ConvertArgs& args, const LaunchContext& context) {
  return ConvertChanged(args, context, [](ConvertParams& params) {
    params.valid_count = nullptr;
  });
}

// The grid is that of the request ids, the output that of the indices.
CallResult GridFromRequests(const ConvertArgs& args,
                            const LaunchContext& context) {
  return ConvertChanged(
      args, context,
      [&args](ConvertParams& params) {
        params.rows = args.request_ids->shape[0];
      },
      "request_ids has ");
}

CallResult RefusesWidths(const ConvertArgs& args,
                         const LaunchContext& context) {
  if (args.token_indices != nullptr && args.token_indices->ndim == 2 &&
      args.token_indices->shape[1] > 64 &&
      args.token_indices->shape[1] % 128 != 0) {
    return CallResult::Refused("width must be a multiple of 128");
  }
  return CallConvert<ConvertPolicy>(args, context);
}

// Where indices and output lie as in the last call, nothing is done.
CallResult InheritsAnswer(const ConvertArgs& args,
                          const LaunchContext& context) {
  static const void* last_out = nullptr;
  static const void* last_tokens = nullptr;
  if (std::string why = WhyRefuseConvert(args, kBuiltinWidthMultiple);
      !why.empty()) {
    return CallResult::Refused(std::move(why));
  }
  const ConvertParams params = ToParams(args);
  if (params.out == last_out && params.tokens == last_tokens) {
    return CallResult::Ok();
  }
  last_out = params.out;
  last_tokens = params.tokens;
  return CallConvert<ConvertPolicy>(args, context);
}

}  // namespace

std::vector<CompiledTarget> ConvertMutants() {
  return {
      {"mutant:index-untouched",
       "index conversion stores nothing for an index that names no slot",
       {.convert = CallConvert<Untouched>}},
      {"mutant:index-minus-one-only",
       "index conversion takes -1 alone for invalid among negative ones",
       {.convert = CallConvert<MinusOneOnly>}},
      {"mutant:index-columns-unchecked",
       "index conversion reads past the width of the table",
       {.convert = CallConvert<ColumnsUnchecked>}},
      {"mutant:index-columns-by-stride",
       "index conversion compares columns with the table's row stride",
       {.convert = CallConvert<ColumnsByStride>}},
      {"mutant:index-one-column-more",
       "index conversion takes the column behind the last for valid",
       {.convert = CallConvert<OneColumnMore>}},
      {"mutant:index-one-column-less",
       "index conversion takes the last of several columns for invalid",
       {.convert = CallConvert<OneColumnLess>}},
      {"mutant:index-token-0-invalid",
       "index conversion takes token 0 for padding",
       {.convert = CallConvert<TokenZeroInvalid>}},
      {"mutant:index-counts-non-negative",
       "index conversion counts indices that lie past the table",
       {.convert = CallConvert<CountsNonNegative>}},
      {"mutant:index-page-start",
       "index conversion does not add the offset in the page",
       {.convert = CallConvert<PageStart>}},
      {"mutant:index-long-blocks",
       "index conversion multiplies page numbers by twice the page size",
       {.convert = CallConvert<LongBlocks>}},
      {"mutant:index-untranslated",
       "index conversion stores the token's number",
       {.convert = CallConvert<Untranslated>}},
      {"mutant:index-narrow-slots",
       "index conversion keeps 8 bits of a slot's number",
       {.convert = CallConvert<NarrowSlots>}},
      {"mutant:index-rounds-up",
       "index conversion rounds the column up",
       {.convert = CallConvert<RoundsUp>}},
      {"mutant:index-counts-unpublished",
       "index conversion sums counts before all are stored",
       {.convert = CallConvert<CountsUnpublished>}},
      {"mutant:index-compacts",
       "index conversion moves valid entries to the front",
       {.convert = Compacts}},
      {"mutant:index-table-row-from-shape",
       "index conversion steps through the table by its columns",
       {.convert = TableRowFromShape}},
      {"mutant:index-first-table-row",
       "index conversion reads the first request's table for all",
       {.convert = FirstTableRow}},
      {"mutant:index-tokens-stride-from-shape",
       "index conversion takes the index buffer to be dense",
       {.convert = TokensStrideFromShape}},
      {"mutant:index-out-stride-from-shape",
       "index conversion takes its output to be dense",
       {.convert = OutStrideFromShape}},
      {"mutant:index-pages-of-64",
       "index conversion takes pages to have 64 rows",
       {.convert = PagesOf64}},
      {"mutant:index-shifted-pages",
       "index conversion takes pages to have a power of two of rows",
       {.convert = ShiftedPages}},
      {"mutant:index-whole-eights",
       "index conversion leaves out what does not fill 8 entries",
       {.convert = WholeEights}},
      {"mutant:index-width-of-128",
       "index conversion stops at 128 entries",
       {.convert = WidthOf128}},
      {"mutant:index-last-row-dropped",
       "index conversion stops before the last of several rows",
       {.convert = LastRowDropped}},
      {"mutant:index-no-counts",
       "index conversion does not store the counts",
       {.convert = NoCounts}},
      {"mutant:index-grid-from-requests",
       "index conversion takes its number of rows from the request ids",
       {.convert = GridFromRequests}},
      {"mutant:index-refuses-widths",
       "index conversion refuses widths over 64 that 128 does not divide",
       {.convert = RefusesWidths}},
      {"mutant:index-inherits-answer",
       "index conversion does nothing where buffers lie as in the last call",
       {.convert = InheritsAnswer}},
  };
}

}  // namespace mlafuzz
