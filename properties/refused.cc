#include "properties/refused.h"

#include <algorithm>
#include <cstdint>

#include "corpus/token_layout.h"
#include "properties/layout_pool.h"

namespace mlafuzz {
namespace {

std::uint32_t Tokens(const Write& write) {
  return std::max<std::uint32_t>(
      write.slots().count(),
      static_cast<std::uint32_t>(write.slots().values_size()));
}

// Rows of another layout, with room for them.
void ForeignRow(Choices& choices, Pool& pool) {
  const auto token =
      static_cast<std::uint32_t>(TokenLayoutOf(pool.layout()).token_bytes);
  // 584: the footer-scale layout's row; 660: four bytes more than a row.
  pool.set_row_bytes(
      token == 656 ? choices.Pick<std::uint32_t>({584, 660, 576, 640, 664})
                   : choices.Pick<std::uint32_t>(
                         {656, token + 4, token + 8, token - 4, 2 * token}));
  if (pool.row_stride() != 0 && pool.row_stride() < pool.row_bytes()) {
    pool.clear_row_stride();
  }
  pool.clear_page_stride();
  pool.clear_patches();
}

// Bytes that a token does not fit into.
std::uint32_t TooFew(Choices& choices, const TokenLayout& layout) {
  const auto token = static_cast<std::uint32_t>(layout.token_bytes);
  return layout.layout == FP8_DS_MLA
             ? choices.Pick<std::uint32_t>({648, 328, 8})
             : choices.Pick<std::uint32_t>({token - 8, token / 16 * 8, 8});
}

// A pool in which some row does not start at a multiple of 8 bytes.
void MisalignPool(Choices& choices, Pool& pool) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto alignment = static_cast<std::uint32_t>(layout.alignment);
  const std::uint64_t slots = std::uint64_t{pool.page_size()} * pool.pages();
  if (slots == 1 || choices.OneIn(2) || (layout.split() && pool.pages() == 1)) {
    pool.set_offset(pool.offset() / alignment * alignment + alignment / 2);
    return;
  }
  if (layout.split()) {
    pool.set_page_stride(PlainPageStride(pool) + alignment / 2);
    return;
  }
  const auto row = static_cast<std::uint32_t>(layout.token_bytes) + 4;
  pool.set_row_stride(row);
  const std::uint64_t dense = std::uint64_t{row} * pool.page_size();
  pool.set_page_stride(pool.page_size() == 1 ? 0 : (dense + 7) / 8 * 8);
}

}  // namespace

bool BreakWriterCheck(WriterCheck check, Choices& choices, Pool& pool,
                      Write& write) {
  const std::uint32_t tokens = Tokens(write);
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto latent = static_cast<std::uint32_t>(layout.codes);
  switch (check) {
    case WRITER_CHECK_LATENT_DIM:
      write.set_latent_dim(
          latent == 512
              ? choices.Pick<std::uint32_t>({256, 511, 513, 576})
              : choices.Pick<std::uint32_t>(
                    {latent / 2, latent - 1, latent + 1, latent + 64}));
      write.clear_kv_c_row_stride();
      return true;
    case WRITER_CHECK_PE_DIM:
      write.set_pe_dim(choices.Pick<std::uint32_t>({32, 128, 63, 65, 1}));
      write.clear_k_pe_row_stride();
      return true;
    case WRITER_CHECK_ROW_BYTES:
      ForeignRow(choices, pool);
      return true;
    case WRITER_CHECK_INPUT_DTYPE:
      write.set_input(F32);
      return true;
    case WRITER_CHECK_ALIGNMENT:
      if (tokens > 0 && choices.OneIn(3)) {
        write.set_kv_c_offset(choices.Pick<std::uint32_t>({1, 4, 7}));
        return true;
      }
      if (tokens > 1 && choices.OneIn(3)) {
        write.set_kv_c_row_stride(latent + choices.Pick<std::uint32_t>({1, 4}));
        return true;
      }
      if (tokens > 0 && write.pe_dim() == 64 && choices.OneIn(2)) {
        if (tokens > 1 && choices.OneIn(2)) {
          write.set_k_pe_row_stride(65);
        } else {
          write.set_k_pe_offset(1);
        }
        return true;
      }
      MisalignPool(choices, pool);
      return true;
    case WRITER_CHECK_SOURCE_ROWS:
      if (tokens == 0) return false;
      write.set_surplus_rows(
          -1 - static_cast<std::int32_t>(choices.Below(std::min(tokens, 4u))));
      return true;
    case WRITER_CHECK_OVERLAP:
      if (!layout.split() && pool.page_size() > 1 && choices.OneIn(2)) {
        pool.set_row_stride(TooFew(choices, layout));
        pool.clear_page_stride();
        return true;
      }
      if (pool.pages() == 1) pool.set_pages(2);
      if (layout.split()) {
        pool.set_page_stride(
            std::uint64_t{pool.page_size()} *
                static_cast<std::uint64_t>(layout.token_bytes) -
            choices.Pick<std::uint32_t>({1, 2, 16}) *
                static_cast<std::uint32_t>(layout.alignment));
        return true;
      }
      pool.set_page_stride(
          std::uint64_t{pool.row_stride() != 0
                            ? pool.row_stride()
                            : static_cast<std::uint32_t>(layout.token_bytes)} *
              (pool.page_size() - 1) +
          (layout.layout == FP8_DS_MLA
               ? choices.Pick<std::uint32_t>({8, 328, 648})
               : TooFew(choices, layout)));
      return true;
    default:
      return false;
  }
}

bool BreakGatherCheck(GatherCheck check, Choices& choices, Pool& pool,
                      Gather& gather) {
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto columns = static_cast<std::uint32_t>(layout.dst_columns());
  switch (check) {
    case GATHER_CHECK_DST_COLUMNS:
      gather.set_dst_columns(
          columns == 576
              ? choices.Pick<std::uint32_t>({512, 575, 577, 640})
              : choices.Pick<std::uint32_t>(
                    {columns / 2, columns - 1, columns + 1, columns + 64}));
      gather.clear_dst_row_stride();
      return true;
    case GATHER_CHECK_DST_DTYPE:
      gather.set_output(
          choices.Pick<DType>({F16, F32, layout.copied ? BF16 : U8}));
      gather.clear_dst_row_stride();
      return true;
    case GATHER_CHECK_ROW_BYTES:
      ForeignRow(choices, pool);
      return true;
    case GATHER_CHECK_BATCH:
      switch (choices.Below(layout.copied ? 2 : 4)) {
        case 0:
          gather.mutable_block_table()->set_rows(gather.block_table().rows() +
                                                 1);
          break;
        case 1:
          if (layout.copied) {
            gather.add_workspace_starts(
                static_cast<std::int32_t>(gather.dst_rows()));
            break;
          }
          if (gather.workspace_starts_size() > 0) {
            gather.mutable_workspace_starts()->RemoveLast();
            break;
          }
          [[fallthrough]];
        case 2:
          gather.add_seq_lens(0);
          while (gather.seq_lens_size() == gather.workspace_starts_size()) {
            gather.add_seq_lens(0);
          }
          break;
        default:
          gather.add_seq_starts(0);
          while (gather.seq_starts_size() == gather.workspace_starts_size()) {
            gather.add_seq_starts(0);
          }
      }
      return true;
    case GATHER_CHECK_ALIGNMENT:
      if (gather.dst_rows() > 1 && choices.OneIn(2)) {
        gather.set_dst_row_stride(
            columns + (layout.copied ? choices.Pick<std::uint32_t>({1, 2, 3})
                                     : choices.Pick<std::uint32_t>({1, 2, 4})));
        return true;
      }
      MisalignPool(choices, pool);
      return true;
    case GATHER_CHECK_OVERLAP:
      if (gather.dst_rows() < 2) return false;
      gather.set_dst_row_stride(
          columns == 576
              ? choices.Pick<std::uint32_t>({568, 512, 8})
              : choices.Pick<std::uint32_t>({columns - 8, columns / 2, 8}));
      return true;
    default:
      return false;
  }
}

bool BreakConvertCheck(ConvertCheck check, Choices& choices, Convert& convert) {
  switch (check) {
    case CONVERT_CHECK_TOKENS: {
      const std::uint32_t rows = convert.token_indices().rows();
      const std::int32_t change = static_cast<std::int32_t>(
          1 + choices.Below(std::min(std::max(rows, 1u), 3u)));
      convert.set_surplus_requests(rows > 0 && choices.OneIn(2) ? -change
                                                                : change);
      return true;
    }
    default:
      return false;
  }
}

bool BreakDecodeCheck(DecodeCheck check, Choices& choices, Pool& pool,
                      Decode& decode) {
  Indices& indices = *decode.mutable_indices();
  switch (check) {
    case DECODE_CHECK_PE_DIM:
      decode.set_pe_dim(choices.Pick<std::uint32_t>({32, 128, 63, 65, 1}));
      return true;
    case DECODE_CHECK_ROW_BYTES:
      ForeignRow(choices, pool);
      return true;
    case DECODE_CHECK_BATCH:
      if (choices.OneIn(2)) {
        indices.set_rows(indices.rows() > 1 && choices.OneIn(2)
                             ? indices.rows() - 1
                             : indices.rows() + 1);
        return true;
      }
      if (decode.lengths_size() > 1 && choices.OneIn(2)) {
        decode.mutable_lengths()->RemoveLast();
        return true;
      }
      decode.add_lengths(0);
      while (decode.lengths_size() <= static_cast<int>(decode.queries())) {
        decode.add_lengths(0);
      }
      return true;
    case DECODE_CHECK_HEADS:
      if (choices.OneIn(3)) {
        decode.set_heads(choices.Pick<std::uint32_t>({0, 129}));
        decode.set_queries(std::min(decode.queries(), 1u));
        decode.clear_sink_bits();
        decode.clear_lengths();
        indices.set_rows(decode.queries());
        return true;
      }
      if (decode.sink_bits_size() > 1 && choices.OneIn(2)) {
        decode.mutable_sink_bits()->RemoveLast();
        return true;
      }
      decode.add_sink_bits(0);
      while (decode.sink_bits_size() <= static_cast<int>(decode.heads())) {
        decode.add_sink_bits(0);
      }
      return true;
    case DECODE_CHECK_ALIGNMENT:
      if (pool.pages() > 1 && choices.OneIn(3)) {
        pool.clear_page_stride();
        pool.set_page_stride(PlainPageStride(pool) + 8);
      } else if (pool.page_size() > 1 &&
                 !TokenLayoutOf(pool.layout()).split() && choices.OneIn(2)) {
        pool.set_row_stride(static_cast<std::uint32_t>(
                                TokenLayoutOf(pool.layout()).token_bytes) +
                            choices.Pick<std::uint32_t>({8, 4, 24}));
        pool.clear_page_stride();
      } else {
        pool.set_offset(choices.Pick<std::uint32_t>({8, 4, 24, 1}));
      }
      return true;
    default:
      return false;
  }
}

void MakeRefused(Case& c, Choices& choices) {
  if (c.steps_size() == 0) return;
  Step& step =
      *c.mutable_steps(static_cast<int>(choices.Below(c.steps_size())));
  Pool& pool = *c.mutable_pool();
  switch (step.call_case()) {
    case Step::kWrite:
      BreakWriterCheck(
          static_cast<WriterCheck>(1 + choices.Below(WRITER_CHECK_OVERLAP)),
          choices, pool, *step.mutable_write());
      return;
    case Step::kGather:
      BreakGatherCheck(
          static_cast<GatherCheck>(1 + choices.Below(GATHER_CHECK_OVERLAP)),
          choices, pool, *step.mutable_gather());
      return;
    case Step::kConvert:
      BreakConvertCheck(CONVERT_CHECK_TOKENS, choices, *step.mutable_convert());
      return;
    case Step::kDecode:
      BreakDecodeCheck(
          static_cast<DecodeCheck>(1 + choices.Below(DECODE_CHECK_ALIGNMENT)),
          choices, pool, *step.mutable_decode());
      return;
    default:
      return;
  }
}

}  // namespace mlafuzz
