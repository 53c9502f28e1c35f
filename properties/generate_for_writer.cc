#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "corpus/contracts.h"
#include "corpus/token_layout.h"
#include "properties/generate_for_parts.h"
#include "properties/repair.h"

namespace mlafuzz {
namespace {

// The token whose values the cases below set: the first one that is stored.
std::uint32_t StoredToken(const Write& write) {
  std::uint32_t token = 0;
  while (token < static_cast<std::uint32_t>(write.slots().values_size()) &&
         write.slots().values(static_cast<int>(token)) < 0) {
    ++token;
  }
  return token;
}

// A pool and a write of at least one row into it.
Write& StoringWrite(Choices& choices, const GeneratorOptions& options,
                    Case& c) {
  Pool& pool = *c.mutable_pool();
  pool = GeneratePool(choices, options);
  Write& write = *c.add_steps()->mutable_write();
  write = GenerateWrite(choices, pool, options);
  Integers& slots = *write.mutable_slots();
  const int listed = slots.values_size();
  if (StoredToken(write) >= static_cast<std::uint32_t>(listed) &&
      slots.count() <= static_cast<std::uint32_t>(listed)) {
    slots.Clear();
    slots.add_values(choices.Below(pool.page_size() * pool.pages()));
  }
  return write;
}

// Values of one of `patterns`, in every row.
void WriteOf(Choices& choices, const GeneratorOptions& options, Case& c,
             std::initializer_list<Values::Pattern> patterns) {
  Write& write = StoringWrite(choices, options, c);
  SetPattern(choices, patterns, *write.mutable_kv_c());
  RepairWrite(write, c.pool(), options);
}

// Columns of kv_c and values a tile, in the layout of the cases.
std::uint32_t CodesOf(const GeneratorOptions& options) {
  return static_cast<std::uint32_t>(TokenLayoutOf(options.layout).codes);
}
std::uint32_t TileOf(const GeneratorOptions& options) {
  return static_cast<std::uint32_t>(TokenLayoutOf(options.layout).tile);
}
std::uint32_t TilesOf(const GeneratorOptions& options) {
  return static_cast<std::uint32_t>(TokenLayoutOf(options.layout).tiles());
}

// The same, with one value replaced in a row that is stored. `bf16` and `f16`
// are its bits in either format, the sign drawn.
void WriteWithValue(Choices& choices, const GeneratorOptions& options, Case& c,
                    std::uint32_t bf16, std::uint32_t f16) {
  Write& write = StoringWrite(choices, options, c);
  SetPattern(choices,
             {Values::NORMAL_RANGE, Values::OCTAVES, Values::MIDPOINTS,
              Values::ZERO, Values::OUTLIER},
             *write.mutable_kv_c());
  SetBits& set = *write.mutable_kv_c()->add_set();
  const std::uint32_t codes = CodesOf(options);
  set.set_at(codes * StoredToken(write) + choices.Below(codes));
  set.set_bits((write.input() == F16 ? f16 : bf16) | choices.Below(2) << 15);
  RepairWrite(write, c.pool(), options);
}

void ForScale(Choices& choices, const GeneratorOptions& options, Case& c) {
  WriteOf(choices, options, c,
          {Values::NORMAL_RANGE, Values::OCTAVES, Values::OUTLIER,
           Values::TINY_NEGATIVE});
}

// The value of 8 or 11 significant bits, 2^15 <= x < 2^16.
float Significand(DType input, std::uint32_t bits) {
  return input == F16 ? std::ldexp(1024.0f + static_cast<float>(bits), 5)
                      : std::ldexp(128.0f + static_cast<float>(bits), 8);
}

// About half of all largest values tell a division by 448 from a product with
// its reciprocal, by their significand alone: a spread of them.
void ForScaleDivision(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  Write& write = StoringWrite(choices, options, c);
  SetPattern(choices, {Values::OUTLIER, Values::TINY_NEGATIVE},
             *write.mutable_kv_c());
  // Two tiles more whose largest value is drawn here.
  const std::uint32_t token = StoredToken(write);
  if (TilesOf(options) < 4) {
    // One that does, where there are few tiles.
    const DType input = write.input() == F16 ? F16 : BF16;
    const int mantissa = input == F16 ? 10 : 7;
    std::uint32_t bits;
    do {
      bits = choices.Below(1u << mantissa);
    } while (Significand(input, bits) / 448.0f ==
             Significand(input, bits) * (1.0f / 448.0f));
    SetBits& set = *write.mutable_kv_c()->add_set();
    set.set_at(CodesOf(options) * StoredToken(write) +
               choices.Below(TileOf(options)));
    set.set_bits((input == F16 ? 23u << 10 : 135u << 7) | bits);
    RepairWrite(write, c.pool(), options);
    return;
  }
  const std::uint32_t tiles = std::min(TilesOf(options), 4u);
  const std::uint32_t first = choices.Below(std::max(tiles, 2u) - 1);
  for (std::uint32_t tile = first; tile < std::min(first + 2, tiles); ++tile) {
    SetBits& set = *write.mutable_kv_c()->add_set();
    set.set_at(CodesOf(options) * token + TileOf(options) * tile +
               choices.Below(TileOf(options)));
    // Above all of those patterns' values.
    set.set_bits(write.input() == F16 ? 23u << 10 | choices.Below(1u << 10)
                                      : 135u << 7 | choices.Below(1u << 7));
  }
  RepairWrite(write, c.pool(), options);
}

// The most that a bf16 may be to lie below the floor: 448 times FLT_MIN, or
// 1e-4.
std::uint32_t BelowFloor(const GeneratorOptions& options) {
  const WriterContract w = BuiltinContract(options.layout).writer();
  return w.floor() == WriterContract::FLOOR_ON_AMAX ? 0x38d1 : 0x4df;
}

void ForFloor(Choices& choices, const GeneratorOptions& options, Case& c) {
  WriteOf(choices, options, c,
          {Values::ZERO, Values::NEGATIVE_ZERO, Values::SUBNORMAL,
           Values::CONSTANT});
  Write& write = *c.mutable_steps(0)->mutable_write();
  Values& values = *write.mutable_kv_c();
  // The smallest numbers of fp16 lie far above the floor; in bf16 448 times the
  // floor is 0x04e0.
  if (values.pattern() == Values::SUBNORMAL ||
      values.pattern() == Values::CONSTANT) {
    write.clear_input();
  }
  if (values.pattern() == Values::CONSTANT) {
    values.clear_seed();
    values.set_bits(choices.Below(2) << 15 |
                    (1 + choices.Below(BelowFloor(options))));
  }
}

void ForFloorBits(Choices& choices, const GeneratorOptions& options, Case& c) {
  WriteOf(choices, options, c,
          {Values::ZERO, Values::NEGATIVE_ZERO, Values::SUBNORMAL,
           Values::FLOOR_EDGE});
}

// To the four significant bits of a code, ties to even; scale does not matter.
float FourBits(float x) {
  int exponent;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 4)), exponent - 4);
}

// Fractions of values whose quotient by a tile's scale lies so near a midpoint
// between codes that a product with the scale's reciprocal falls to the other
// side of it. Empty for most largest values.
std::vector<std::uint32_t> ReciprocalShows(DType input, std::uint32_t amax) {
  const float scale = Significand(input, amax) / 448.0f;
  const float reciprocal = 1.0f / scale;
  std::vector<std::uint32_t> shows;
  for (std::uint32_t bits = 0; bits < (input == F16 ? 1024 : 128); ++bits) {
    const float x = Significand(input, bits);
    const float quotient = x / scale;
    const float product = x * reciprocal;
    if (FourBits(quotient) != FourBits(product)) shows.push_back(bits);
  }
  return shows;
}

void ForCodeDivision(Choices& choices, const GeneratorOptions& options,
                     Case& c) {
  Write& write = StoringWrite(choices, options, c);
  const DType input = write.input() == F16 ? F16 : BF16;
  const int mantissa = input == F16 ? 10 : 7;
  std::uint32_t amax;
  std::vector<std::uint32_t> shows;
  do {
    amax = choices.Below(1u << mantissa);
    shows = ReciprocalShows(input, amax);
  } while (shows.empty());
  Values& values = *write.mutable_kv_c();
  SetPattern(choices, {Values::ZERO, Values::NEGATIVE_ZERO}, values);
  // Exponents of a tile's largest value, and of one near a code's middle that
  // is below it.
  const std::uint32_t top =
      input == F16 ? 15 + choices.Below(12) : 110 + choices.Below(30);
  const std::uint32_t half = TileOf(options) / 2;
  const std::uint32_t tile =
      CodesOf(options) * StoredToken(write) +
      TileOf(options) * choices.Below(std::min(TilesOf(options), 4u));
  const std::uint32_t leader = choices.Below(half);
  SetBits& largest = *values.add_set();
  largest.set_at(tile + leader);
  largest.set_bits(choices.Below(2) << 15 | top << mantissa | amax);
  for (std::uint32_t i = 0; i < 1 + choices.Below(3); ++i) {
    SetBits& near = *values.add_set();
    near.set_at(tile + leader + 1 + choices.Below(half - 1));
    near.set_bits(
        choices.Below(2) << 15 | (top - 1 - choices.Below(4)) << mantissa |
        shows[choices.Below(static_cast<std::uint32_t>(shows.size()))]);
  }
  RepairWrite(write, c.pool(), options);
}

void ForCodeRounding(Choices& choices, const GeneratorOptions& options,
                     Case& c) {
  WriteOf(choices, options, c,
          {Values::NORMAL_RANGE, Values::OCTAVES, Values::MIDPOINTS,
           // Under a power of two they are codes.
           TokenLayoutOf(options.layout).ue8m0() ? Values::OCTAVES
                                                 : Values::SMALL_INTEGERS});
}

void ForNan(Choices& choices, const GeneratorOptions& options, Case& c) {
  const std::uint32_t bf16 =
      choices.Pick<std::uint32_t>({0x7fc0, 0x7f81, 0x7fff});
  const std::uint32_t f16 =
      choices.Pick<std::uint32_t>({0x7e00, 0x7c01, 0x7fff});
  if (!choices.OneIn(6)) {
    WriteWithValue(choices, options, c, bf16, f16);
    return;
  }
  // Nothing else in any tile.
  Write& write = StoringWrite(choices, options, c);
  Values& values = *write.mutable_kv_c();
  values.Clear();
  values.set_pattern(Values::CONSTANT);
  values.set_bits((write.input() == F16 ? f16 : bf16) | choices.Below(2) << 15);
  RepairWrite(write, c.pool(), options);
}

void ForInf(Choices& choices, const GeneratorOptions& options, Case& c) {
  WriteWithValue(choices, options, c, 0x7f80, 0x7c00);
}

void ForNegativeZero(Choices& choices, const GeneratorOptions& options,
                     Case& c) {
  if (choices.OneIn(2)) {
    WriteOf(choices, options, c,
            {Values::NEGATIVE_ZERO, Values::TINY_NEGATIVE});
  } else {
    WriteWithValue(choices, options, c, 0x8000, 0x8000);
  }
}

void ForFp16Amax(Choices& choices, const GeneratorOptions& options, Case& c) {
  WriteOf(choices, options, c,
          {Values::NORMAL_RANGE, Values::OCTAVES, Values::CONSTANT,
           Values::SMALL_INTEGERS, Values::NEGATIVE_ZERO});
  Write& write = *c.mutable_steps(0)->mutable_write();
  write.set_input(F16);
  if (write.kv_c().pattern() == Values::CONSTANT) {
    write.mutable_kv_c()->clear_seed();
    write.mutable_kv_c()->set_bits(0x2000 + choices.Below(0x3000));
  }
}

void ForSlots(Choices& choices, const GeneratorOptions& options, Case& c) {
  Write& write = StoringWrite(choices, options, c);
  Integers& slots = *write.mutable_slots();
  const std::int64_t skipped = choices.Pick<std::int64_t>(
      {-1, -1, -2, -3, -5, -16, -(std::int64_t{1} << 31),
       -(std::int64_t{1} << 32)});
  if (slots.values_size() == 0) {
    slots.add_values(skipped);
    slots.set_count(slots.count() + (slots.count() > 0 ? 1 : 0));
  } else {
    slots.set_values(static_cast<int>(choices.Below(
                         static_cast<std::uint32_t>(slots.values_size()))),
                     skipped);
  }
  RepairWrite(write, c.pool(), options);
}

// A row for a slot that another has, with values of its own.
void ForDuplicates(Choices& choices, const GeneratorOptions& options, Case& c) {
  Write& write = StoringWrite(choices, options, c);
  SetPattern(choices, {Values::NORMAL_RANGE, Values::OCTAVES},
             *write.mutable_kv_c());
  Integers& slots = *write.mutable_slots();
  const std::uint32_t n = c.pool().page_size() * c.pool().pages();
  slots.Clear();
  for (std::uint32_t i = 2 + choices.Below(4); i > 0; --i) {
    slots.add_values(choices.Below(std::min(n, 2u)));
  }
  slots.set_values(1, slots.values(0));
  RepairWrite(write, c.pool(), options);
}

void ForSlotsPastPool(Choices& choices, const GeneratorOptions& options,
                      Case& c) {
  Write& write = StoringWrite(choices, options, c);
  const std::uint32_t n = c.pool().page_size() * c.pool().pages();
  Integers& slots = *write.mutable_slots();
  if (slots.values_size() == 0) slots.add_values(0);
  slots.set_values(0, n + choices.Below(3));
  RepairWrite(write, c.pool(), options);
}

void ForTail(Choices& choices, const GeneratorOptions& options, Case& c) {
  Write& write = StoringWrite(choices, options, c);
  Fill& fill = *c.mutable_pool()->mutable_fill();
  if (choices.OneIn(3)) {
    fill.Clear();
    fill.set_byte(1 + choices.Below(255));
  } else {
    SetFill(choices, choices.Pick({Fill::ROWS, Fill::RANDOM_BYTES}),
            Fill::ARBITRARY, fill);
  }
  write.clear_pe_dim();
  write.clear_k_pe();
  write.clear_k_pe_row_stride();
  write.clear_k_pe_offset();
  RepairWrite(write, c.pool(), options);
}

void ForZeroTokens(Choices& choices, const GeneratorOptions& options, Case& c) {
  Write& write = StoringWrite(choices, options, c);
  write.clear_slots();
  RepairWrite(write, c.pool(), options);
}

}  // namespace

std::vector<FieldRecipe> WriterRecipes() {
  return {{"writer.scale", ForScale},
          {"writer.scale_division", ForScaleDivision},
          {"writer.floor", ForFloor},
          {"writer.floor_bits", ForFloorBits},
          {"writer.code_division", ForCodeDivision},
          {"writer.code_rounding", ForCodeRounding},
          {"writer.nan", ForNan},
          {"writer.inf", ForInf},
          {"writer.negative_zero", ForNegativeZero},
          {"writer.fp16_amax", ForFp16Amax},
          {"writer.slots", ForSlots},
          {"writer.duplicates", ForDuplicates},
          {"writer.slots_past_pool", ForSlotsPastPool},
          {"writer.tail", ForTail},
          {"writer.zero_tokens", ForZeroTokens}};
}

}  // namespace mlafuzz
