#include "properties/variants.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "corpus/token_layout.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kLeftAloneOneIn = 16;

void VaryWrite(Choices& choices, Write& write) {
  // One that is to be refused for its type, or has no values, stays.
  if (write.input() == F32 || choices.OneIn(kLeftAloneOneIn)) return;
  write.set_input(F32);
  for (Values* values : {write.mutable_kv_c(), write.mutable_k_pe()}) {
    if (!choices.OneIn(8)) values->set_low_seed(1 + choices.Below(1u << 16));
    for (SetBits& set : *values->mutable_set()) {
      if (choices.OneIn(2)) set.set_low(choices.Below(1u << 16));
    }
  }
}

void VaryGather(Choices& choices, const GeneratorOptions& options,
                Gather& gather) {
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  if (options.rows == GatherContract::ROWS_ONE_SCALE) {
    // A random mantissa, or a power of two, near 1 or far from it.
    const std::uint32_t exponent =
        choices.OneIn(4) ? 1 + choices.Below(254) : 113 + choices.Below(18);
    gather.set_tensor_scale_bits(
        exponent << 23 | (choices.OneIn(4) ? 0 : choices.Below(1u << 23)));
    gather.clear_nope();
    return;
  }
  if (gather.output() != DTYPE_UNSPECIFIED || gather.dst_columns() != 0 ||
      choices.OneIn(kLeftAloneOneIn)) {
    return;
  }
  const std::uint32_t columns = DstColumns(options);
  gather.set_output(U8);
  gather.set_dst_columns(columns);
  if (gather.dst_row_stride() != 0) {
    gather.set_dst_row_stride(gather.dst_row_stride() + columns -
                              static_cast<std::uint32_t>(layout.dst_columns()));
  }
  gather.clear_nope();
}

// A page past the pool: near where page times page size leaves int32, or at an
// end of int32.
std::int64_t PageAnywhere(Choices& choices, const Pool& pool) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const std::int64_t last = kMax / pool.page_size();  // the last that fits
  const std::int64_t page = choices.Pick<std::int64_t>(
      {last, last + 1, 2 * last + 1, 2 * last + 2, kMax, pool.pages(), -1, -2,
       std::numeric_limits<std::int32_t>::min(),
       last / 2 + static_cast<std::int64_t>(choices.Below(1000))});
  return std::min(page, kMax);
}

void VaryPages(Choices& choices, const Pool& pool, Table& table) {
  Integers& pages = *table.mutable_pages();
  const std::uint32_t cells =
      (table.expanded() ? std::min(table.rows(), 1u) : table.rows()) *
      table.columns();
  if (pages.values_size() == 0 && cells > 0) {
    const std::uint32_t few = 1 + choices.Below(std::min(cells, 4u));
    for (std::uint32_t i = 0; i < few; ++i) {
      pages.add_values(choices.Below(pool.pages()));
    }
  }
  for (std::int64_t& page : *pages.mutable_values()) {
    if (choices.OneIn(3)) page = PageAnywhere(choices, pool);
  }
}

void VaryRequests(Choices& choices, Convert& convert) {
  const auto rows = static_cast<std::int64_t>(convert.block_table().rows());
  for (std::int64_t& id : *convert.mutable_request_ids()->mutable_values()) {
    if (!choices.OneIn(6)) continue;
    id = choices.Pick<std::int64_t>({rows, rows + 1, -1, -2,
                                     std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::min()});
  }
}

void VaryWorkspace(Choices& choices, Convert& convert) {
  if (choices.OneIn(6)) return;  // decodes alone
  const std::uint32_t requests = 1 + choices.Below(3);
  std::int64_t at = choices.Pick<std::int64_t>({0, 0, 1, 1 << 20, 1 << 30});
  for (std::uint32_t i = 0; i < requests; ++i) {
    convert.add_prefill_workspace_starts(static_cast<std::int32_t>(at));
    at += choices.Below(300);
  }
  const std::uint32_t rows = convert.token_indices().rows();
  for (std::uint32_t i = 0; i < rows; ++i) {
    convert.add_prefill_request_ids(
        static_cast<std::int32_t>(choices.Below(requests + 1)) - 1);
  }
}

bool SaysAnything(const GeneratorOptions& options) {
  return options.fp32 || options.workspace || options.any_page ||
         options.any_request || options.rows == GatherContract::ROWS_BYTES ||
         options.rows == GatherContract::ROWS_ONE_SCALE;
}

}  // namespace

std::uint32_t DstColumns(const GeneratorOptions& options) {
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  switch (options.rows) {
    case GatherContract::ROWS_BYTES:
      return static_cast<std::uint32_t>(layout.token_bytes);
    case GatherContract::ROWS_ONE_SCALE:
      return kOneScaleRow;
    default:
      return static_cast<std::uint32_t>(layout.dst_columns());
  }
}

DType DstDtype(const GeneratorOptions& options) {
  return options.rows == GatherContract::ROWS_BYTES
             ? U8
             : TokenLayoutOf(options.layout).dst_dtype();
}

void TakeWhat(Kernel kernel, const Contract& contract,
              GeneratorOptions& options) {
  switch (kernel) {
    case Kernel::kWriter: {
      const auto& inputs = contract.writer().inputs();
      options.fp32 =
          std::find(inputs.begin(), inputs.end(), F32) != inputs.end();
      break;
    }
    case Kernel::kGather:
      options.rows = contract.gather().rows();
      break;
    case Kernel::kConvert: {
      const ConvertContract& convert = contract.convert();
      options.workspace =
          convert.workspace() != ConvertContract::WORKSPACE_UNKNOWN;
      options.any_page = convert.pages() != ConvertContract::PAGES_OF_POOL;
      options.any_request =
          convert.requests() == ConvertContract::REQUESTS_INVALID;
      break;
    }
    case Kernel::kDecode:
      options.lengths = contract.decode().lengths_demand() ==
                        DecodeContract::LENGTHS_DEMANDED;
      break;
  }
}

void Vary(Choices& choices, const GeneratorOptions& options, Case& c) {
  if (!SaysAnything(options)) return;
  if (options.rows == GatherContract::ROWS_ONE_SCALE &&
      c.pool().row_bytes() == 0 &&
      !(options.invalid && choices.OneIn(kLeftAloneOneIn))) {
    c.mutable_pool()->set_row_bytes(kOneScaleRow);
  }
  for (Step& step : *c.mutable_steps()) {
    if (step.has_write() && options.fp32) {
      VaryWrite(choices, *step.mutable_write());
    } else if (step.has_gather() &&
               options.rows != GatherContract::ROWS_UPCONVERTED) {
      VaryGather(choices, options, *step.mutable_gather());
    } else if (step.has_convert()) {
      Convert& convert = *step.mutable_convert();
      if (options.any_page) {
        VaryPages(choices, c.pool(), *convert.mutable_block_table());
      }
      if (options.any_request) VaryRequests(choices, convert);
      if (options.workspace) VaryWorkspace(choices, convert);
    }
  }
  RepairCase(c, options);
}

}  // namespace mlafuzz
