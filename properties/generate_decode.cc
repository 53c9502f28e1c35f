#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "corpus/token_layout.h"
#include "corpus/values.h"
#include "properties/generate.h"
#include "properties/layout_pool.h"
#include "properties/repair.h"

// Decode calls that have something to say: rows whose tile scales have
// fractions that differ, logits from flat to peaked, masks and lengths at every
// place of the index row, block and split borders, and around them the classes
// in which a row or a scale must not matter.
namespace mlafuzz {
namespace {

constexpr std::uint32_t kLatent = 512;
// Beyond this width an index row has more than one block.
constexpr std::uint32_t kBlock = 64;

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

std::uint32_t Slots(const Pool& pool) {
  return pool.page_size() * pool.pages();
}

void FillForDecode(Choices& choices, Fill& fill) {
  const std::uint32_t draw = choices.Below(32);
  fill.set_seed(choices.Below(1u << 16));
  if (draw < 20) {
    fill.set_kind(Fill::FINITE_ROWS);
  } else if (draw < 23) {
    fill.set_kind(Fill::LATTICE_ROWS);
  } else if (draw < 25) {
    fill.set_kind(Fill::FINITE_ROWS);
    fill.set_scales(choices.Pick({Fill::POWERS_OF_TWO, Fill::WIDE}));
  } else if (draw < 30) {
    fill.set_kind(Fill::ROWS);
    fill.set_scales(static_cast<Fill::Scales>(choices.Below(5)));
  } else if (draw < 31) {
    fill.set_kind(Fill::RANDOM_BYTES);
  } else {
    fill.clear_seed();
    fill.set_byte(choices.Pick<std::uint32_t>({0x00, 0x7f, 0x80, 0xff}));
  }
}

// Widths of real models' index rows: a top-k of up to 2048, and 2176 with the
// tail of an incomplete pool. Few of so many lanes are keys.
bool IsWide(std::uint32_t width) { return width > 4 * kBlock; }

std::uint32_t Width(Choices& choices) {
  if (choices.OneIn(26)) {
    return choices.Pick<std::uint32_t>({512, 1024, 2048, 2176});
  }
  const std::uint32_t draw = choices.Below(64);
  if (draw < 34) return 1 + choices.Below(8);
  if (draw < 39) return 9 + choices.Below(54);
  if (draw < 53) return 63 + choices.Below(3);
  if (draw < 56) return 66 + choices.Below(60);
  if (draw < 62) return 127 + choices.Below(3);
  return choices.Pick<std::uint32_t>({192, 256});
}

std::uint32_t Queries(Choices& choices) {
  const std::uint32_t draw = choices.Below(128);
  if (draw < 78) return 1;
  if (draw < 108) return 2;
  if (draw < 120) return 3 + choices.Below(2);
  if (draw < 121) return 0;
  return choices.Pick<std::uint32_t>({63, 64, 65, 66, 80});
}

std::uint32_t Heads(Choices& choices) {
  const std::uint32_t draw = choices.Below(128);
  if (draw < 86) return 1;
  if (draw < 113) return 2;
  if (draw < 120) return 3 + choices.Below(2);
  // Groups of 8 and 16 that are full, that are not, and what pads to 128.
  return choices.Pick<std::uint32_t>(
      {5, 8, 12, 16, 17, 24, 40, 64, 65, 96, 127, 128});
}

void Query(Choices& choices, Decode& decode) {
  Values& q = *decode.mutable_q();
  const std::uint32_t columns = kLatent + decode.pe_dim();
  const std::uint32_t count = decode.queries() * decode.heads() * columns;
  const std::uint32_t draw = choices.Below(32);
  if (draw < 16) {
    q.set_pattern(Values::NORMAL_RANGE);
  } else if (draw < 22) {
    q.set_pattern(Values::SMALL_INTEGERS);
  } else if (draw < 27) {
    // One column of a head or two: its logit is one product.
    for (std::uint32_t i = 1 + choices.Below(2); i > 0 && count > 0; --i) {
      SetBits& set = *q.add_set();
      set.set_at(choices.Below(count));
      set.set_bits(choices.Pick<std::uint32_t>(
          {0x3f80, 0xbf80, 0x4000, 0x4180, 0x42c8, 0x3f81}));
    }
    return;
  } else if (draw < 29) {
    return;  // zeros: all keys weigh the same
  } else if (draw < 30) {
    q.set_pattern(Values::OCTAVES);
  } else {
    q.set_pattern(choices.Pick({Values::MIXED, Values::SPECIALS,
                                Values::RANDOM_BITS, Values::SUBNORMAL}));
  }
  q.set_seed(choices.Below(1u << 16));
}

void Masks(Choices& choices, Indices& indices) {
  const std::uint32_t width = indices.width();
  if (IsWide(width)) {
    indices.set_valid(1 + choices.Below(kBlock));
    indices.set_place(static_cast<Indices::Place>(choices.Below(4)));
    return;
  }
  indices.set_valid(width);
  const std::uint32_t draw = choices.Below(32);
  if (draw < 12) return;
  if (draw < 15) {
    indices.set_valid(0);
  } else if (width > kBlock && draw < 23) {
    // Few keys in the first block, so that the running maximum grows later.
    indices.set_valid(std::min(width, width - kBlock + 1 + choices.Below(3)));
    indices.set_place(Indices::FRONT);
  } else {
    // A block and more without any key.
    const std::uint32_t behind = width > kBlock ? width - kBlock : width / 2;
    indices.set_valid(choices.Pick<std::uint32_t>(
        {1, behind, width - 1, choices.Below(width + 1),
         1u << choices.Below(
             static_cast<std::uint32_t>(std::bit_width(width)))}));
    indices.set_place(static_cast<Indices::Place>(choices.Below(4)));
  }
  if (choices.OneIn(5)) indices.set_pad(Indices::OTHER_NEGATIVE);
}

std::uint32_t SinkBits(Choices& choices) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  switch (choices.Below(12)) {
    case 0:
      return Bits(-kInf);
    case 1:
      return Bits(kInf);
    case 2:
      return Bits(0.0f);
    case 3:
      return Bits(choices.Pick({-40.0f, 40.0f}));
    case 4:
      return choices.OneIn(4) ? 0x7fc00000 : Bits(-1e30f);
    default:
      return Bits(static_cast<float>(choices.Between(-64, 64)) / 8);
  }
}

// Of `queries` index rows over a cache of that page size.
void Lengths(Choices& choices, std::uint32_t page_size, std::uint32_t queries,
             Indices& indices,
             google::protobuf::RepeatedField<std::int32_t>* lengths) {
  const std::uint32_t width = indices.width();
  // What lies past a length may be anything, also what would be no slot.
  const bool junk = choices.OneIn(3) && width > 1;
  std::uint32_t most = width;
  if (junk) {
    most = 1 + choices.Below(width - 1);
    indices.set_valid(most);
    indices.set_place(Indices::BACK);
    indices.set_pad(choices.Pick({Indices::HUGE_POSITIVE, Indices::MIXED_PAD}));
  }
  for (std::uint32_t i = 0; i < queries; ++i) {
    std::uint32_t length = choices.Pick<std::uint32_t>(
        {0, 1, most - 1, most, choices.Below(most + 1), choices.Below(most + 1),
         junk ? most : width + 3});
    if (choices.OneIn(6)) {
      // Beside the borders of pages and blocks.
      length = choices.Pick<std::uint32_t>({page_size, kBlock}) - 1 +
               choices.Below(3);
      if (junk) length = std::min(length, most);
    }
    // A padded row of a batch may come with -1.
    lengths->Add(choices.OneIn(24) ? -1 : static_cast<std::int32_t>(length));
  }
}

std::string Bytes(std::uint32_t word, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(word >> (8 * i)));
  }
  return bytes;
}

// Makes the row in `slot` the only key of every query: what is odd about it is
// then not hidden by others.
void OnlyKey(std::int32_t slot, Decode& decode) {
  Indices& indices = *decode.mutable_indices();
  indices.set_valid(1);
  indices.set_place(Indices::BACK);
  indices.clear_set();
  for (std::uint32_t row = 0; row < indices.rows(); ++row) {
    SetIndex& set = *indices.add_set();
    set.set_at(row * indices.width());
    set.set_value(slot);
  }
}

// Gives one row that a key names codes, scales or rope of a class of its own.
void OddKeyRow(Choices& choices, Pool& pool, const Decode& decode,
               std::int32_t* odd) {
  std::vector<std::int32_t> keys;
  for (const std::int32_t index : ExpandIndices(decode.indices())) {
    if (index >= 0 && index < static_cast<std::int32_t>(Slots(pool))) {
      keys.push_back(index);
    }
    if (keys.size() == 4) break;
  }
  if (keys.empty()) return;
  const std::int32_t slot =
      keys[choices.Below(static_cast<std::uint32_t>(keys.size()))];
  *odd = slot;
  const auto patch = [&](std::uint32_t at, std::string data) {
    Patch& p = *pool.add_patches();
    p.set_slot(static_cast<std::uint64_t>(slot));
    p.set_at(at);
    p.set_data(std::move(data));
  };
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto columns = static_cast<std::uint32_t>(layout.tile);
  const auto codes_of_a_tile = static_cast<std::size_t>(layout.tile);
  const auto scales_at = static_cast<std::uint32_t>(layout.scales_at);
  const auto rope_at = static_cast<std::uint32_t>(layout.rope_at);
  const std::uint32_t tile =
      choices.Below(static_cast<std::uint32_t>(layout.tiles()));
  const std::uint32_t kind = choices.Below(12);
  if (layout.ue8m0() && kind >= 3 && kind <= 8) {
    // Both ends, what lies beside them, and steps of one.
    patch(scales_at + tile,
          Bytes(choices.Pick<std::uint32_t>({0, 0, 255, 255, 1, 254, 126, 128}),
                1));
    return;
  }
  if (layout.rope == 0 && (kind == 9 || kind == 10)) {
    patch(columns * tile, Bytes(0x7f, 1));
    return;
  }
  switch (kind) {
    case 0:  // nothing but zeros of either sign
      patch(columns * tile,
            std::string(codes_of_a_tile, choices.OneIn(2) ? '\0' : '\x80'));
      return;
    case 1: {  // one code
      std::string codes(codes_of_a_tile, '\0');
      codes[choices.Below(columns)] =
          static_cast<char>(choices.Pick({0x7e, 0xfe, 0x38, 0x01}));
      patch(columns * tile, codes);
      return;
    }
    case 2:  // subnormals alone
      patch(columns * tile,
            std::string(codes_of_a_tile,
                        static_cast<char>((choices.Below(2) << 7) |
                                          (1 + choices.Below(7)))));
      return;
    case 3:  // 18 octaves and more between two scales
      patch(scales_at,
            Bytes((102 + choices.Below(6)) << 23 | choices.Below(1u << 23), 4));
      patch(scales_at + 4 + 4 * choices.Below(3),
            Bytes((126 + choices.Below(4)) << 23 | choices.Below(1u << 23), 4));
      return;
    case 4:  // a power of two, one step above, one step below
      patch(scales_at + 4 * tile,
            Bytes(((118 + choices.Below(8)) << 23) - 1 + choices.Below(3), 4));
      return;
    case 5:
    case 6:
    case 7:
    case 8:
      patch(scales_at + 4 * tile,
            Bytes(choices.Pick<std::uint32_t>(
                      {0x00000000, 0x80000000, 0x00000001, 0x007fffff,
                       0x00800000, 0x7f800000, 0x7fc00000, 0xbc400000}),
                  4));
      return;
    case 9:  // a subnormal value
      patch(rope_at + 2 * choices.Below(64),
            Bytes(choices.Pick<std::uint32_t>({0x0001, 0x8001, 0x007f}), 2));
      return;
    case 10:
      patch(rope_at + 2 * choices.Below(64),
            Bytes(choices.Pick<std::uint32_t>({0x7f80, 0xff80, 0x7fc0}), 2));
      return;
    default:
      patch(choices.Below(static_cast<std::uint32_t>(layout.codes)),
            Bytes(choices.Pick<std::uint32_t>({0x7f, 0x80, 0x7e}), 1));
  }
}

// Makes one row of the pool something that no key may touch, and moves the keys
// that name it elsewhere.
void PoisonRow(Choices& choices, Pool& pool, Decode& decode) {
  const std::uint32_t slots = Slots(pool);
  if (slots < 2) return;
  const std::uint32_t slot = choices.OneIn(4) ? choices.Below(slots) : 0;
  Patch& patch = *pool.add_patches();
  patch.set_slot(slot);
  const TokenLayout& layout = TokenLayoutOf(pool.layout());
  const auto a_scale = [&](const char* fp32) {
    const std::uint32_t tile =
        choices.Below(static_cast<std::uint32_t>(layout.tiles()));
    patch.set_at(static_cast<std::uint32_t>(layout.scales_at) +
                 static_cast<std::uint32_t>(layout.scale_bytes) * tile);
    patch.set_data(layout.ue8m0() ? std::string("\xff") : std::string(fp32, 4));
  };
  switch (choices.Below(4)) {
    case 0:
      patch.set_data(
          std::string(static_cast<std::size_t>(layout.token_bytes), '\xff'));
      break;
    case 1:  // NaN
      a_scale("\x00\x00\xc0\x7f");
      break;
    case 2:  // Inf, or what may be either
      a_scale("\x00\x00\x80\x7f");
      break;
    default:
      patch.set_at(choices.Below(static_cast<std::uint32_t>(layout.codes)));
      patch.set_data("\x7f");
  }
  Indices& indices = *decode.mutable_indices();
  const std::vector<std::int32_t> all = ExpandIndices(indices);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<std::int32_t>(slot)) continue;
    SetIndex& set = *indices.add_set();
    set.set_at(i);
    set.set_value(static_cast<std::int32_t>(
        (slot + 1 + choices.Below(slots - 1)) % slots));
  }
}

}  // namespace

void StrideHeads(Choices& choices, Decode& decode) {
  const std::uint32_t heads = decode.heads();
  const auto gap = [&]() -> std::uint32_t {
    return choices.Pick<std::uint32_t>({8, 16, 64, 128, 512});
  };
  const std::uint32_t columns = kLatent + decode.pe_dim();
  const std::uint32_t which = 1 + choices.Below(7);
  if ((which & 1) != 0) {
    const std::uint32_t head = choices.OneIn(3) ? columns : columns + gap();
    decode.set_q_head_stride(head);
    if (choices.OneIn(3)) decode.set_q_query_stride(heads * head + gap());
  }
  if ((which & 2) != 0) {
    const std::uint32_t head = choices.OneIn(3) ? kLatent : kLatent + gap();
    decode.set_out_head_stride(head);
    if (choices.OneIn(3)) decode.set_out_query_stride(heads * head + gap());
  }
  if ((which & 4) != 0) {
    decode.set_lse_query_stride(heads +
                                choices.Pick<std::uint32_t>({1, 2, 3, 64}));
  }
}

Pool GenerateDecodePool(Choices& choices, const GeneratorOptions& options) {
  const TokenLayout& layout = TokenLayoutOf(options.layout);
  Pool pool;
  SetLayout(options.layout, pool);
  pool.set_page_size(
      choices.Pick<std::uint32_t>({1, 1, 2, 2, 3, 4, 5, 8, 16, 64}));
  if (choices.OneIn(48)) {
    pool.set_page_size(choices.Pick<std::uint32_t>({128, 256}));
  }
  const std::uint32_t page = pool.page_size();
  pool.set_pages(1 + choices.Below(page >= 16 ? 2 : page >= 4 ? 3 : 6));
  if (!options.small && choices.OneIn(4)) {
    pool.set_pages(pool.pages() + choices.Below(2048 / page));
  }
  if (!layout.split() && choices.OneIn(8)) {
    pool.set_row_stride(static_cast<std::uint32_t>(layout.token_bytes) +
                        16 * (1 + choices.Below(4)));
  }
  if (choices.OneIn(6)) {
    pool.set_page_stride(PlainPageStride(pool) + 16 * (1 + choices.Below(8)));
  }
  if (choices.OneIn(8)) pool.set_offset(16 * (1 + choices.Below(8)));
  FillForDecode(choices, *pool.mutable_fill());
  return pool;
}

void GenerateExtra(Choices& choices, const Pool& pool,
                   const GeneratorOptions& options, Decode& decode) {
  ExtraCache& extra = *decode.mutable_extra();
  Pool& second = *extra.mutable_pool();
  SetLayout(options.layout, second);
  // Compressed pages are smaller than the first cache's, where a model has
  // both; one of 2 rows is in use.
  second.set_page_size(choices.Pick<std::uint32_t>(
      {1, 2, 2, 3, 4, 8, 16, 32, 64, pool.page_size()}));
  second.set_pages(1 + choices.Below(second.page_size() >= 16 ? 2 : 6));
  if (choices.OneIn(4)) {
    second.set_page_stride(PlainPageStride(second) +
                           16 * (1 + choices.Below(8)));
  }
  if (choices.OneIn(6)) second.set_offset(16 * (1 + choices.Below(8)));
  FillForDecode(choices, *second.mutable_fill());
  second.clear_layout();
  Indices& indices = *extra.mutable_indices();
  indices.set_rows(decode.queries());
  const std::uint32_t draw = choices.Below(16);
  indices.set_width(draw < 12   ? 1 + choices.Below(8)
                    : draw < 15 ? 63 + choices.Below(3)
                                : 1 + choices.Below(3 * kBlock));
  if (choices.OneIn(6)) {
    indices.set_row_stride(indices.width() +
                           choices.Pick<std::uint32_t>({1, 2, 3, 8}));
  }
  indices.set_seed(choices.Below(1u << 16));
  indices.set_limit(Slots(second));
  Masks(choices, indices);
  if (choices.OneIn(2)) {
    Lengths(choices, second.page_size(), decode.queries(), indices,
            extra.mutable_lengths());
  }
}

Decode GenerateDecode(Choices& choices, const Pool& pool,
                      const GeneratorOptions& options) {
  Decode decode;
  decode.set_queries(Queries(choices));
  decode.set_heads(Heads(choices));
  if (RopeBeyond(options.layout) == 0) {
    // Nothing of a query lies beyond the values.
  } else if (!choices.OneIn(3)) {
    decode.set_pe_dim(RopeBeyond(options.layout));
  } else if (decode.heads() == 1 && choices.OneIn(2)) {
    // What a reserved tail would meet is the next row of q.
    decode.set_heads(2);
  }
  Indices& indices = *decode.mutable_indices();
  indices.set_rows(decode.queries());
  indices.set_width(Width(choices));
  const bool many = decode.queries() > 8;
  if (many) {
    // What holds for a head or a query beyond the first of a large call.
    decode.set_heads(std::min(decode.heads(), 2u));
    // Within CaseLimits::decode_cells: repair would take queries away.
    indices.set_width(1 + choices.Below(decode.heads() > 1 ? 2 : 3));
  } else if (IsWide(indices.width())) {
    decode.set_queries(1);
    decode.set_heads(1);
    indices.set_rows(1);
  } else if (decode.heads() > 8) {
    decode.set_queries(decode.heads() < 32 ? 1 + choices.Below(2) : 1);
    indices.set_rows(decode.queries());
    indices.set_width(1 + choices.Below(2));
  } else {
    // Wide rows one at a time.
    while (decode.queries() * decode.heads() * indices.width() > 272 &&
           decode.queries() * decode.heads() > 1) {
      if (decode.heads() > 1) {
        decode.set_heads(decode.heads() - 1);
      } else {
        decode.set_queries(decode.queries() - 1);
        indices.set_rows(decode.queries());
      }
    }
  }
  if (choices.OneIn(6)) {
    indices.set_row_stride(indices.width() +
                           choices.Pick<std::uint32_t>({1, 2, 3, 7, 8}));
  }
  indices.set_seed(choices.Below(1u << 16));
  // All rows, or keys that repeat.
  indices.set_limit(choices.OneIn(8) ? 1 + choices.Below(Slots(pool))
                                     : Slots(pool));
  Masks(choices, indices);
  if (options.lengths ? !choices.OneIn(8)
      : many          ? !choices.OneIn(4)
                      : choices.OneIn(3))
    Lengths(choices, pool.page_size(), decode.queries(), indices,
            decode.mutable_lengths());
  Query(choices, decode);
  decode.set_softmax_scale_bits(
      Bits(choices.Pick({1 / 24.0f, 1 / 24.0f, 0.0721687824f, 1.0f, 0.125f})));
  if (choices.OneIn(3)) {
    for (std::uint32_t i = 0; i < decode.heads(); ++i) {
      decode.add_sink_bits(SinkBits(choices));
    }
  }
  if (choices.OneIn(2)) {
    decode.set_splits(choices.OneIn(6)
                          ? choices.Pick<std::uint32_t>({8, 16, 32})
                          : 1 + choices.Below(3));
  }
  if (choices.OneIn(3)) {
    const std::uint32_t width = indices.width();
    decode.set_declared_topk(choices.Pick<std::uint32_t>(
        {width, width + 1, std::max(width - 1, 1u), std::max(width - 1, 1u),
         std::max(width / 2, 1u), 1 + choices.Below(width)}));
    if (width == 2176) decode.set_declared_topk(2048);
  }
  if (decode.queries() > 1 && choices.OneIn(3)) {
    // All of one request, or of several.
    const std::uint32_t length =
        choices.Pick<std::uint32_t>({decode.queries(), 2, 2, 4});
    decode.set_query_length(decode.queries() % length == 0 ? length
                                                           : decode.queries());
  }
  if (choices.OneIn(6)) StrideHeads(choices, decode);
  if (HasExtra(options.layout) && choices.OneIn(2)) {
    GenerateExtra(choices, pool, options, decode);
  }
  RepairDecode(decode, pool, options);
  return decode;
}

void GenerateDecodeProgram(Choices& choices, const GeneratorOptions& options,
                           Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = GenerateDecodePool(choices, options);
  // Rows of another hand before, poison among the rows, two calls on one pool.
  if (options.writer && choices.OneIn(8)) {
    Write& write = *c.add_steps()->mutable_write();
    write = GenerateWrite(choices, pool, options);
  }
  Decode& first = *c.add_steps()->mutable_decode();
  first = GenerateDecode(choices, pool, options);
  if (choices.OneIn(4)) {
    PoisonRow(choices, pool, first);
    RepairDecode(first, pool, options);
  } else if (choices.OneIn(5)) {
    std::int32_t odd = -1;
    OddKeyRow(choices, pool, first, &odd);
    if (odd >= 0 && choices.OneIn(3)) {
      OnlyKey(odd, first);
      RepairDecode(first, pool, options);
    }
  }
  if (choices.OneIn(32)) {
    Decode second = GenerateDecode(choices, pool, options);
    *c.add_steps()->mutable_decode() = std::move(second);
  }
}

}  // namespace mlafuzz
