#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/token_layout.h"
#include "corpus/values.h"
#include "properties/generate_for_parts.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

constexpr std::uint32_t kBlock = 64;

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// A decode of finite rows whose tile scales have fractions that differ and
// whose values lie near 1, with queries that tell the keys apart, keys that
// every query sees, and nothing that may make a row NaN or Inf.
Decode& TellingDecode(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = GenerateDecodePool(choices, options);
  SetFill(choices, Fill::FINITE_ROWS, Fill::ARBITRARY, *pool.mutable_fill());
  Decode& decode = *c.add_steps()->mutable_decode();
  decode = GenerateDecode(choices, pool, options);
  if (decode.queries() == 0) {
    decode.set_queries(1);
    decode.mutable_indices()->set_rows(1);
  }
  if (decode.indices().width() > 4 * kBlock) {
    decode.mutable_indices()->set_width(kBlock - 1 + choices.Below(4));
    decode.mutable_indices()->clear_row_stride();
  }
  decode.clear_lengths();
  decode.clear_sink_bits();
  decode.clear_declared_topk();
  decode.clear_extra();
  SetPattern(choices, {Values::NORMAL_RANGE, Values::SMALL_INTEGERS},
             *decode.mutable_q());
  decode.set_softmax_scale_bits(
      Bits(choices.Pick({1 / 24.0f, 0.0721687824f, 0.125f})));
  Indices& indices = *decode.mutable_indices();
  indices.clear_set();
  indices.set_valid(std::max(1u, indices.valid()));
  if (indices.pad() != Indices::OTHER_NEGATIVE) indices.clear_pad();
  return decode;
}

// Small integers and scales of 1: every sum is exact in any order.
void MaybeLattice(Choices& choices, Case& c) {
  if (!choices.OneIn(4)) return;
  Fill& fill = *c.mutable_pool()->mutable_fill();
  fill.set_kind(Fill::LATTICE_ROWS);
  Decode& decode = *c.mutable_steps(0)->mutable_decode();
  SetPattern(choices, {Values::SMALL_INTEGERS}, *decode.mutable_q());
}

void Finish(const GeneratorOptions& options, Case& c) {
  Decode& decode = *c.mutable_steps(0)->mutable_decode();
  Indices& indices = *decode.mutable_indices();
  // Wider rows for fewer queries and heads: no list may be left too long.
  if (std::uint64_t{decode.queries()} * decode.heads() * indices.width() >
      LimitsOf(options).decode_cells) {
    decode.set_queries(1);
    decode.set_heads(std::min(decode.heads(), 2u));
    decode.clear_query_length();
    indices.set_rows(1);
    indices.clear_set();
    if (decode.lengths_size() > 1) decode.mutable_lengths()->Truncate(1);
    if (decode.sink_bits_size() > 2) decode.mutable_sink_bits()->Truncate(2);
  }
  if (options.lengths && decode.lengths_size() == 0) {
    decode.mutable_lengths()->Resize(
        static_cast<int>(decode.queries()),
        static_cast<std::int32_t>(indices.width()));
  }
  RepairDecode(decode, c.pool(), options);
}

// At least two lanes, of which some remain when others go.
void Widen(Choices& choices, Decode& decode) {
  Indices& indices = *decode.mutable_indices();
  if (indices.width() > 1) return;
  indices.set_width(2 + choices.Below(6));
  if (indices.row_stride() != 0) indices.set_row_stride(indices.width() + 1);
}

void ForQkScale(Choices& choices, const GeneratorOptions& options, Case& c) {
  TellingDecode(choices, options, c);
  Finish(options, c);
}

void ForVScale(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  if (choices.OneIn(4)) decode.clear_q();  // the mean of the keys
  if (choices.OneIn(4)) decode.mutable_indices()->set_valid(1);
  Finish(options, c);
}

void ForMask(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Indices& indices = *decode.mutable_indices();
  indices.set_pad(Indices::OTHER_NEGATIVE);
  indices.set_valid(choices.Below(indices.width()));
  Finish(options, c);
}

// Keys at and past every length, at 63, 64 and 65 too; more than 64 queries.
void ForLength(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Indices& indices = *decode.mutable_indices();
  if (choices.OneIn(5)) {
    decode.set_queries(kBlock + 1 + choices.Below(2));
    decode.set_heads(1);
    decode.clear_query_length();
    indices.set_rows(decode.queries());
    indices.set_width(1 + choices.Below(3));
    indices.clear_row_stride();
  } else if (decode.queries() * decode.heads() == 1 && choices.OneIn(4)) {
    indices.set_width(kBlock + 1 + choices.Below(4));
    indices.clear_row_stride();
  }
  const std::uint32_t width = indices.width();
  indices.set_valid(width);
  for (std::uint32_t i = 0; i < decode.queries(); ++i) {
    std::uint32_t length = choices.Pick<std::uint32_t>(
        {0, 1, width - 1, choices.Below(width), choices.Below(width)});
    if (width > kBlock && choices.OneIn(2))
      length = kBlock - 1 + choices.Below(3);
    decode.add_lengths(static_cast<std::int32_t>(std::min(length, width - 1)));
  }
  Finish(options, c);
}

// Slot 0 holds NaN or Inf; some lanes are keys in other rows, some are masked.
void ForMaskedLanes(Choices& choices, const GeneratorOptions& options,
                    Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  Pool& pool = *c.mutable_pool();
  if (pool.page_size() * pool.pages() == 1) pool.set_pages(2);
  const std::uint32_t slots = pool.page_size() * pool.pages();
  Patch& patch = *pool.add_patches();
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const std::uint32_t tile =
      choices.Below(static_cast<std::uint32_t>(layout.tiles()));
  patch.set_at(static_cast<std::uint32_t>(layout.scales_at) +
               static_cast<std::uint32_t>(layout.scale_bytes) * tile);
  patch.set_data(layout.ue8m0()     ? std::string("\xff")
                 : choices.OneIn(2) ? std::string("\x00\x00\xc0\x7f", 4)
                                    : std::string("\x00\x00\x80\x7f", 4));
  Widen(choices, decode);
  Indices& indices = *decode.mutable_indices();
  indices.set_valid(1 + choices.Below(indices.width() - 1));
  indices.set_limit(slots);
  const std::vector<std::int32_t> all = ExpandIndices(indices);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0) continue;
    SetIndex& set = *indices.add_set();
    set.set_at(i);
    set.set_value(static_cast<std::int32_t>(1 + choices.Below(slots - 1)));
  }
  Finish(options, c);
}

// No key in the first block of a split, some behind it.
void ForLeadingBlock(Choices& choices, const GeneratorOptions& options,
                     Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  decode.set_queries(1);
  decode.set_heads(1);
  decode.clear_query_length();
  decode.set_splits(choices.Below(2));
  Indices& indices = *decode.mutable_indices();
  indices.set_rows(1);
  indices.set_width(kBlock + 1 + choices.Below(kBlock));
  indices.clear_row_stride();
  indices.set_valid(1 + choices.Below(indices.width() - kBlock));
  indices.set_place(Indices::FRONT);
  Finish(options, c);
}

// A query without keys, beside others that have some or alone.
void ForEmptyRow(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Indices& indices = *decode.mutable_indices();
  if (choices.OneIn(3)) {
    indices.set_valid(indices.width());
    for (std::uint32_t i = 0; i < decode.queries(); ++i) {
      decode.add_lengths(static_cast<std::int32_t>(
          i == 0 ? 0 : choices.Below(indices.width() + 1)));
    }
  } else {
    indices.set_valid(0);
    if (decode.queries() > 1 && choices.OneIn(2)) {
      // One real row in a padded batch.
      SetIndex& set = *indices.add_set();
      set.set_at(choices.Below(decode.queries() * indices.width()));
      set.set_value(static_cast<std::int32_t>(
          choices.Below(c.pool().page_size() * c.pool().pages())));
    }
  }
  if (choices.OneIn(4)) {
    for (std::uint32_t i = 0; i < decode.heads(); ++i) {
      decode.add_sink_bits(
          Bits(static_cast<float>(choices.Between(-64, 64)) / 8));
    }
  }
  Finish(options, c);
}

void ForLseBase(Choices& choices, const GeneratorOptions& options, Case& c) {
  TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Finish(options, c);
}

// Sinks of the size of the logits, which lie within some units of zero.
void ForSink(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  decode.set_softmax_scale_bits(Bits(1 / 24.0f));
  for (std::uint32_t i = 0; i < decode.heads(); ++i) {
    decode.add_sink_bits(
        Bits(static_cast<float>(choices.Between(-16, 80)) / 8));
  }
  Finish(options, c);
}

// Keys past the model's top-k.
void ForCapacity(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Widen(choices, decode);
  if (choices.OneIn(12)) {
    // The buffer of a model whose pool's tail is not complete.
    decode.set_queries(1);
    decode.set_heads(1);
    decode.clear_query_length();
    Indices& indices = *decode.mutable_indices();
    indices.set_rows(1);
    indices.set_width(2176);
    indices.clear_row_stride();
    indices.set_valid(1 + choices.Below(kBlock));
    indices.set_place(choices.Pick({Indices::FRONT, Indices::SCATTERED}));
    decode.set_declared_topk(2048);
    Finish(options, c);
    return;
  }
  const std::uint32_t width = decode.indices().width();
  if (!choices.OneIn(4)) decode.mutable_indices()->set_valid(width);
  decode.set_declared_topk(choices.Pick<std::uint32_t>(
      {width - 1, std::max(width / 2, 1u), 1 + choices.Below(width - 1)}));
  Finish(options, c);
}

// A call without lengths, whatever else it is.
void ForLengthsDemand(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Finish(options, c);
  if (options.lengths && options.invalid) {
    c.mutable_steps(0)->mutable_decode()->clear_lengths();
  }
}

// Of several rows of q: behind the last one nothing is known to lie.
void ForNopeTail(Choices& choices, const GeneratorOptions& options, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  decode.clear_pe_dim();
  if (decode.queries() * decode.heads() == 1) {
    decode.set_heads(2 + choices.Below(3));
  }
  Finish(options, c);
}

// One key whose first codes are 448 under the scale byte `byte`, and a query of
// one column that meets one of them.
void OneScaleByte(Choices& choices, const GeneratorOptions& options,
                  std::uint8_t byte, std::uint32_t q_bits, Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  const std::uint32_t tile =
      choices.Below(static_cast<std::uint32_t>(layout.tiles()));
  const std::uint32_t column =
      static_cast<std::uint32_t>(layout.tile) * tile +
      choices.Below(static_cast<std::uint32_t>(layout.tile));
  Indices& indices = *decode.mutable_indices();
  indices.set_valid(1);
  indices.clear_pad();
  decode.clear_declared_topk();
  for (const std::int32_t index : ExpandIndices(indices)) {
    if (index < 0) continue;
    const auto put = [&](std::uint32_t at, std::uint8_t value) {
      Patch& patch = *c.mutable_pool()->add_patches();
      patch.set_slot(static_cast<std::uint64_t>(index));
      patch.set_at(at);
      patch.set_data(std::string(1, static_cast<char>(value)));
    };
    put(static_cast<std::uint32_t>(layout.scales_at) + tile, byte);
    put(column, choices.OneIn(2) ? 0x7e : 0xfe);
  }
  Values& q = *decode.mutable_q();
  q.Clear();
  for (std::uint32_t i = 0; i < decode.queries() * decode.heads(); ++i) {
    SetBits& set = *q.add_set();
    set.set_at(512 * i + column);
    set.set_bits(q_bits);
  }
  Finish(options, c);
}

// 448 times 2^-127 against 2^120: a logit of some size, or none.
void ForUe8m0Zero(Choices& choices, const GeneratorOptions& options, Case& c) {
  OneScaleByte(choices, options, 0, 0x7b80, c);
}

// Keys of a second cache beside those of the first.
ExtraCache& TellingExtra(Choices& choices, const GeneratorOptions& options,
                         Case& c) {
  Decode& decode = TellingDecode(choices, options, c);
  GenerateExtra(choices, c.pool(), options, decode);
  ExtraCache& extra = *decode.mutable_extra();
  SetFill(choices, Fill::FINITE_ROWS, Fill::ARBITRARY,
          *extra.mutable_pool()->mutable_fill());
  extra.clear_lengths();
  Indices& indices = *extra.mutable_indices();
  indices.clear_set();
  if (indices.pad() != Indices::OTHER_NEGATIVE) indices.clear_pad();
  indices.set_width(std::max(2u, indices.width()));
  indices.clear_row_stride();
  indices.set_valid(std::max(1u, indices.valid()));
  return extra;
}

void ForExtra(Choices& choices, const GeneratorOptions& options, Case& c) {
  TellingExtra(choices, options, c);
  Finish(options, c);
}

// Keys at and past the second length, all of one row.
void ForExtraLength(Choices& choices, const GeneratorOptions& options,
                    Case& c) {
  ExtraCache& extra = TellingExtra(choices, options, c);
  Indices& indices = *extra.mutable_indices();
  indices.set_valid(indices.width());
  const std::uint32_t queries = c.steps(0).decode().queries();
  for (std::uint32_t i = 0; i < queries; ++i) {
    extra.add_lengths(static_cast<std::int32_t>(choices.Below(
        std::min(indices.width(), 2 + choices.Below(indices.width())))));
  }
  Finish(options, c);
}

void ForRopeValues(Choices& choices, const GeneratorOptions& options, Case& c) {
  TellingDecode(choices, options, c);
  MaybeLattice(choices, c);
  Finish(options, c);
}

}  // namespace

std::vector<FieldRecipe> DecodeRecipes() {
  return {{"qk.scale_rule", ForQkScale},
          {"v.scale_rule", ForVScale},
          {"decode.mask", ForMask},
          {"decode.length", ForLength},
          {"decode.masked_lanes", ForMaskedLanes},
          {"decode.leading_block", ForLeadingBlock},
          {"decode.empty_row", ForEmptyRow},
          {"decode.lse_base", ForLseBase},
          {"decode.sink", ForSink},
          {"decode.capacity", ForCapacity},
          {"decode.nope_tail", ForNopeTail},
          {"decode.lengths_demand", ForLengthsDemand},
          {"qk.ue8m0_zero", ForUe8m0Zero},
          {"v.ue8m0_zero", ForUe8m0Zero},
          // Not ue8m0_last: a logit of Inf is as good as one of NaN, and where
          // it is NaN the values do not show.
          {"decode.extra", ForExtra},
          {"decode.extra_length", ForExtraLength},
          {"decode.rope_values", ForRopeValues}};
}

}  // namespace mlafuzz
