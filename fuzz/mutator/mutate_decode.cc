#include "fuzz/mutator/mutate_decode.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "properties/layout_pool.h"

namespace mlafuzz {
namespace {

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

void MutateIndices(Indices& indices, std::uint32_t slots, Choices& choices) {
  const std::uint32_t width = std::max(1u, indices.width());
  switch (choices.Below(8)) {
    case 7:
      // Few keys in the first block, more behind it.
      indices.set_width(choices.Pick<std::uint32_t>({65, 66, 100, 128}));
      indices.set_valid(indices.width() - 64 + 1 + choices.Below(3));
      indices.set_place(Indices::FRONT);
      indices.set_limit(slots);
      break;
    case 0:
      indices.set_valid(choices.Pick<std::uint32_t>(
          {0, 1, width, width - 1, width > 64 ? width - 63 : width / 2,
           choices.Below(width + 1)}));
      break;
    case 1:
      indices.set_place(static_cast<Indices::Place>(choices.Below(4)));
      break;
    case 2:
      indices.set_pad(static_cast<Indices::Pad>(choices.Below(4)));
      break;
    case 3:
      indices.set_width(choices.Pick<std::uint32_t>(
          {1, 2, 3, 7, 63, 64, 65, 66, 127, 128, 129, 256, 2176, width + 1}));
      if (indices.row_stride() != 0)
        indices.set_row_stride(indices.width() + 1);
      break;
    case 4:
      indices.set_limit(
          choices.Pick<std::uint32_t>({slots, slots, 1, slots / 2 + 1}));
      indices.set_seed(choices.Below(1u << 16));
      break;
    case 5:
      indices.set_row_stride(choices.OneIn(2) ? 0
                                              : width + 1 + choices.Below(4));
      break;
    default: {
      SetIndex& set = *indices.add_set();
      set.set_at(choices.Below(std::max(1u, indices.rows() * width)));
      set.set_value(choices.Pick<std::int32_t>(
          {0, static_cast<std::int32_t>(slots - 1),
           static_cast<std::int32_t>(choices.Below(slots)), -1, -1, -2,
           std::numeric_limits<std::int32_t>::min(),
           std::numeric_limits<std::int32_t>::max()}));
      if (indices.set_size() > 16) indices.mutable_set()->RemoveLast();
    }
  }
}

void MutateQuery(Decode& decode, Choices& choices) {
  Values& q = *decode.mutable_q();
  const std::uint32_t count =
      decode.queries() * decode.heads() * (512 + decode.pe_dim());
  switch (choices.Below(4)) {
    case 0:
      q.set_pattern(choices.Pick({Values::ZERO, Values::NORMAL_RANGE,
                                  Values::SMALL_INTEGERS, Values::OCTAVES,
                                  Values::MIXED, Values::SPECIALS}));
      break;
    case 1:
      q.set_seed(choices.Below(1u << 16));
      break;
    case 2:
      if (q.set_size() > 0) {
        q.mutable_set()->RemoveLast();
        break;
      }
      [[fallthrough]];
    default: {
      if (count == 0) break;
      SetBits& set = *q.add_set();
      set.set_at(choices.Below(count));
      set.set_bits(choices.Pick<std::uint32_t>({0x0000, 0x3f80, 0xbf80, 0x4000,
                                                0x4180, 0x42c8, 0x3f81, 0x7f80,
                                                0x7fc0, 0x7f7f, 0x0001}));
      if (q.set_size() > 4) q.mutable_set()->DeleteSubrange(0, 1);
    }
  }
}

// A second cache: a new one, none, or something about it.
void MutateExtra(Choices& choices, const Pool& pool,
                 const GeneratorOptions& options, Decode& decode) {
  if (!decode.has_extra() || choices.OneIn(6)) {
    decode.clear_extra();
    GenerateExtra(choices, pool, options, decode);
    return;
  }
  ExtraCache& extra = *decode.mutable_extra();
  Pool& second = *extra.mutable_pool();
  Indices& indices = *extra.mutable_indices();
  switch (choices.Below(8)) {
    case 0:
      decode.clear_extra();
      return;
    case 1:
      second.set_page_size(choices.Pick<std::uint32_t>(
          {1, 2, 3, 4, 8, 63, 64, 65, std::max(1u, pool.page_size())}));
      return;
    case 2:
      second.set_pages(1 + choices.Below(6));
      return;
    case 3:
      second.set_page_stride(
          choices.OneIn(2) ? 0 : second.page_stride() + 16 * choices.Below(9));
      second.mutable_fill()->set_seed(choices.Below(1u << 16));
      return;
    case 4:
      if (extra.lengths_size() == 0) {
        for (std::uint32_t i = 0; i < decode.queries(); ++i) {
          extra.add_lengths(static_cast<std::int32_t>(indices.width()));
        }
      }
      if (extra.lengths_size() == 0) return;
      extra.set_lengths(
          static_cast<int>(choices.Below(extra.lengths_size())),
          static_cast<std::int32_t>(choices.Below(indices.width() + 3)) - 1);
      return;
    case 5:
      extra.clear_lengths();
      return;
    default:
      MutateIndices(
          indices,
          std::max(1u, second.page_size()) * std::max(1u, second.pages()),
          choices);
  }
}

}  // namespace

void MutateDecode(Decode& decode, const Pool& pool, Choices& choices,
                  const GeneratorOptions& options) {
  Indices& indices = *decode.mutable_indices();
  const std::uint32_t slots =
      std::max(1u, pool.page_size()) * std::max(1u, pool.pages());
  if (HasExtra(options.layout) && choices.OneIn(4)) {
    MutateExtra(choices, pool, options, decode);
    return;
  }
  switch (choices.Below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      MutateIndices(indices, slots, choices);
      break;
    case 4:
    case 5:
      MutateQuery(decode, choices);
      break;
    case 6:
      decode.set_softmax_scale_bits(
          choices.Pick({Bits(1 / 24.0f), Bits(0.0721687824f), Bits(1.0f),
                        Bits(0.125f), Bits(64.0f), Bits(1e-20f)}));
      break;
    case 7:
      if (decode.lengths_size() > 0 && choices.OneIn(3)) {
        decode.clear_lengths();
        break;
      }
      if (decode.lengths_size() == 0) {
        for (std::uint32_t i = 0; i < decode.queries(); ++i) {
          decode.add_lengths(static_cast<std::int32_t>(indices.width()));
        }
      }
      if (decode.lengths_size() > 0) {
        decode.set_lengths(
            static_cast<int>(choices.Below(decode.lengths_size())),
            static_cast<std::int32_t>(choices.Below(indices.width() + 3)) - 1);
      }
      break;
    case 8:
      if (decode.sink_bits_size() > 0 && choices.OneIn(3)) {
        decode.clear_sink_bits();
        break;
      }
      while (decode.sink_bits_size() < static_cast<int>(decode.heads())) {
        decode.add_sink_bits(0xff800000);
      }
      if (decode.sink_bits_size() > 0) {
        decode.set_sink_bits(
            static_cast<int>(choices.Below(decode.sink_bits_size())),
            choices.Pick<std::uint32_t>({0xff800000, 0x7f800000, 0, Bits(1.0f),
                                         Bits(-3.0f), Bits(40.0f),
                                         0x7fc00000}));
      }
      break;
    case 9:
      decode.set_splits(choices.Below(5));
      break;
    case 10:
      decode.set_declared_topk(
          choices.Pick<std::uint32_t>({0, indices.width(), indices.width() + 1,
                                       std::max(1u, indices.width() - 1),
                                       std::max(1u, indices.width() / 2)}));
      break;
    case 11: {
      const std::uint32_t queries = choices.Pick<std::uint32_t>(
          {0, 1, 2, 3, 64, 65, decode.queries() + 1});
      decode.set_queries(queries);
      indices.set_rows(queries);
      if (decode.lengths_size() > 0) {
        decode.mutable_lengths()->Resize(
            static_cast<int>(queries),
            static_cast<std::int32_t>(choices.Below(indices.width() + 1)));
      }
      if (decode.has_extra()) {
        ExtraCache& extra = *decode.mutable_extra();
        extra.mutable_indices()->set_rows(queries);
        if (extra.lengths_size() > 0) {
          extra.mutable_lengths()->Resize(static_cast<int>(queries), 1);
        }
      }
      break;
    }
    case 12:
      if (choices.OneIn(3)) {
        StrideHeads(choices, decode);
        break;
      }
      decode.set_heads(
          choices.Pick<std::uint32_t>({1, 2, 3, 4, decode.heads() + 1}));
      if (decode.sink_bits_size() > 0) {
        decode.mutable_sink_bits()->Resize(static_cast<int>(decode.heads()), 0);
      }
      break;
    case 13:
      decode.set_pe_dim(decode.pe_dim() == 0 ? 64 : 0);
      break;
    case 14:
      decode.set_query_length(choices.Below(decode.queries() + 1));
      break;
    default:
      decode = GenerateDecode(choices, pool, options);
  }
}

void CrossOverDecodes(const Decode& from, Choices& choices, Decode& decode) {
  switch (choices.Below(3)) {
    case 0:
      *decode.mutable_q() = from.q();
      decode.set_softmax_scale_bits(from.softmax_scale_bits());
      break;
    case 1:
      *decode.mutable_indices() = from.indices();
      decode.mutable_indices()->set_rows(decode.queries());
      break;
    default:
      decode.set_splits(from.splits());
      decode.set_declared_topk(from.declared_topk());
      *decode.mutable_sink_bits() = from.sink_bits();
      decode.mutable_sink_bits()->Resize(
          from.sink_bits_size() > 0 ? static_cast<int>(decode.heads()) : 0, 0);
  }
}

}  // namespace mlafuzz
