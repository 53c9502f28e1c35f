#include "oracle/layouts/page_read.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "gtest/gtest.h"
#include "oracle/bf16.h"
#include "oracle/layouts/page_layout.h"
#include "oracle/layouts/page_write.h"
#include "oracle/layouts/vllm_conventions.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint16_t>;

class EachLayout : public testing::TestWithParam<const PageLayout*> {};

// A value comes back within half a step of its tile's grid: a sixteenth of
// itself, or 2^-10 scales where codes are subnormal; rope comes back as it was.
// Tokens lie in the reverse order of slots, over three padded pages.
TEST_P(EachLayout, WhatIsWrittenIsReadBack) {
  const PageLayout& layout = *GetParam();
  const std::int64_t size = 5, tokens = 3 * size;
  const std::int64_t stride = layout.PageBytes(size) + 48;
  std::mt19937 random(20261130);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  const int columns = layout.codes + layout.rope;
  Words latent, rope;
  for (std::int64_t t = 0; t < tokens; ++t) {
    // A tile's magnitude is its own, so that another tile's scale is noticed.
    for (int i = 0; i < layout.codes; ++i) {
      const int octave = static_cast<int>((t * 7 + i / layout.tile * 5) % 24);
      latent.push_back(Bf16FromFloat(std::ldexp(mantissa(random), octave - 8),
                                     Rounding::kNearestEven));
    }
    for (int i = 0; i < layout.rope; ++i) {
      rope.push_back(static_cast<std::uint16_t>(random()));
    }
  }
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < tokens; ++t) slots.push_back(tokens - 1 - t);
  Bytes pool(static_cast<std::size_t>(3 * stride), 0xa5);
  ASSERT_TRUE(WritePages(VllmConventions(/*pow2=*/true),
                         {.layout = &layout,
                          .page_size = size,
                          .page_stride = stride,
                          .input = DType::BF16,
                          .latent = latent,
                          .stride = layout.codes,
                          .rope = rope,
                          .rope_stride = layout.rope,
                          .tokens = tokens,
                          .slots = slots},
                         absl::MakeSpan(pool)));
  Words values(static_cast<std::size_t>(tokens * columns));
  ASSERT_TRUE(ReadPages({.layout = &layout,
                         .page_size = size,
                         .page_stride = stride,
                         .ue8m0 = {},
                         .pool = pool,
                         .slots = slots},
                        absl::MakeSpan(values)));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::uint16_t* got = values.data() + t * columns;
    const std::uint16_t* in = latent.data() + t * layout.codes;
    for (int i = 0; i < layout.codes; ++i) {
      double amax = 0;
      for (int k = 0; k < layout.tile; ++k) {
        amax = std::max<double>(
            amax, std::fabs(Bf16Value(in[i / layout.tile * layout.tile + k])));
      }
      const double scale = std::exp2(std::ceil(std::log2(amax / 448)));
      const double x = Bf16Value(in[i]);
      ASSERT_LE(std::fabs(Bf16Value(got[i]) - x),
                std::max(std::fabs(x) / 16, scale / 1024))
          << layout.name << " token " << t << " column " << i;
    }
    for (int i = 0; i < layout.rope; ++i) {
      ASSERT_EQ(got[layout.codes + i],
                rope[static_cast<std::size_t>(t * layout.rope + i)]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachLayout,
                         testing::ValuesIn(PageLayouts().begin(),
                                           PageLayouts().end()),
                         [](const auto& info) {
                           return std::string(info.param->name);
                         });

// GLM53_NOPE over 656-byte rows: the same latent part, no tail.
TEST(ReadPages, NopeRowsOverLongerOnes) {
  std::mt19937 random(7);
  Bytes pool(8 * 656);
  for (std::uint8_t& byte : pool) byte = static_cast<std::uint8_t>(random());
  const std::vector<std::int64_t> slots = {0, 3, 7, 4};
  Words with(4 * 576), without(4 * 512);
  PageRead read = {.layout = &kRow656,
                   .page_size = 4,
                   .page_stride = 4 * 656,
                   .ue8m0 = {},
                   .pool = pool,
                   .slots = slots};
  ASSERT_TRUE(ReadPages(read, absl::MakeSpan(with)));
  read.layout = &kRow528;
  read.row_stride = 656;
  // The last row needs no tail.
  read.pool = absl::MakeConstSpan(pool).first(8 * 656 - 128);
  ASSERT_TRUE(ReadPages(read, absl::MakeSpan(without)));
  for (int t = 0; t < 4; ++t) {
    EXPECT_TRUE(std::equal(without.begin() + t * 512,
                           without.begin() + (t + 1) * 512,
                           with.begin() + t * 576))
        << t;
  }
  read.pool = absl::MakeConstSpan(pool).first(8 * 656 - 129);
  EXPECT_FALSE(ReadPages(read, absl::MakeSpan(without)));
}

TEST(ReadPages, WhatLiesOutsideSaysNothing) {
  const Bytes pool(2 * 1152);
  Words values(512, 0x5a5a);
  const auto reads = [&](std::int64_t slot, std::size_t bytes) {
    const std::vector<std::int64_t> slots = {slot};
    return ReadPages({.layout = &kFooter584,
                      .page_size = 1,
                      .page_stride = 1152,
                      .ue8m0 = {},
                      .pool = absl::MakeConstSpan(pool).first(bytes),
                      .slots = slots},
                     absl::MakeSpan(values));
  };
  EXPECT_FALSE(reads(-1, 2304));
  EXPECT_FALSE(reads(2, 2304));
  EXPECT_FALSE(reads(0, 583));
  EXPECT_FALSE(reads(1, 1152 + 583));
  const std::vector<std::int64_t> slots = {0};
  PageRead read = {.layout = &kFooter584,
                   .page_size = 1,
                   .page_stride = 1152,
                   .ue8m0 = {},
                   .pool = pool,
                   .slots = slots};
  EXPECT_FALSE(ReadPages(read, absl::MakeSpan(values).first(511)));
  read.row_stride = 656;
  EXPECT_FALSE(ReadPages(read, absl::MakeSpan(values)));
  EXPECT_EQ(values, Words(512, 0x5a5a));
  EXPECT_TRUE(reads(1, 1152 + 584));
}

// All scale bytes with all codes under each reading, against fp64.
TEST(ReadPages, EveryCodeUnderEveryScaleByte) {
  using Zero = Ue8m0Reading::Zero;
  using Last = Ue8m0Reading::Last;
  const std::vector<std::int64_t> slots = {0};
  const auto code_value = [](int code) {
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double magnitude = exponent == 0
                                 ? std::ldexp(fraction, -9)
                                 : std::ldexp(8 + fraction, exponent - 10);
    return code & 0x80 ? -magnitude : magnitude;
  };
  for (const Zero zero : {Zero::kSubnormal, Zero::kZero}) {
    for (const Last last : {Last::kNan, Last::kInf}) {
      for (int byte = 0; byte < 256; ++byte) {
        Bytes pool(512 + 16, static_cast<std::uint8_t>(byte));
        for (int i = 0; i < 512; ++i) {
          pool[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
        }
        Words values(512);
        ASSERT_TRUE(ReadPages({.layout = &kFooter528,
                               .page_size = 1,
                               .page_stride = 528,
                               .ue8m0 = {zero, last},
                               .pool = pool,
                               .slots = slots},
                              absl::MakeSpan(values)));
        double scale = std::ldexp(1.0, byte - 127);
        if (byte == 0 && zero == Zero::kZero) scale = 0;
        if (byte == 255) scale = last == Last::kNan ? NAN : INFINITY;
        for (int code = 0; code < 256; ++code) {
          const std::uint16_t got = values[static_cast<std::size_t>(code)];
          EXPECT_EQ(got, values[static_cast<std::size_t>(256 + code)]);
          const double want = code_value(code) * scale;
          if ((code & 0x7f) == 0x7f || std::isnan(want)) {
            EXPECT_EQ(got, kBf16Nan);
          } else if (std::fabs(want) >= 0x1p128) {
            EXPECT_EQ(got, want < 0 ? 0xff80 : 0x7f80);
          } else {
            // bf16's grid: 2^-133 is its smallest step. A product of a code
            // (four bits) is on it but for the smallest.
            const double rounded =
                std::fabs(want) < 0x1p-126
                    ? std::nearbyint(want * 0x1p133) * 0x1p-133
                    : want;
            EXPECT_EQ(static_cast<double>(Bf16Value(got)), rounded)
                << byte << " " << code;
            EXPECT_EQ(got >> 15, std::signbit(want) ? 1 : 0);
          }
        }
      }
    }
  }
}

// ---- against a real kernel

struct SingleKey {
  const char* name;
  std::int64_t slot;
};

// Queries with one valid key, whose output is that token's row: probability 1,
// sum 1. See testdata/README.md.
constexpr SingleKey kSingleKeys[] = {{"single_key", 28},
                                     {"topk_length_zero", 44},
                                     {"ue8m0_0_1", 6},
                                     {"ue8m0_254", 6}};
constexpr std::size_t kPageBytes = 37440;
constexpr std::size_t kRecord = kPageBytes + 1024;

// What that decode puts out for a value under probability 1: added to +0, then
// flushed, sign kept, if subnormal.
std::uint16_t PutOut(std::uint16_t value) {
  if ((value & 0x7fff) == 0) return 0;
  return (value & 0x7f80) == 0 ? value & 0x8000 : value;
}

// The number of words that differ from the recorded ones.
int Wrong(std::size_t k, Ue8m0Reading reading, bool flushed) {
  static const Bytes* const kData = [] {
    std::ifstream in(
        "oracle/layouts/testdata/flashmla_footer584_single_keys.bin",
        std::ios::binary);
    return new Bytes{std::istreambuf_iterator<char>(in), {}};
  }();
  EXPECT_EQ(kData->size(), std::size(kSingleKeys) * kRecord);
  const auto record = absl::MakeConstSpan(*kData).subspan(k * kRecord, kRecord);
  const std::vector<std::int64_t> slots = {kSingleKeys[k].slot};
  Words values(512);
  EXPECT_TRUE(ReadPages({.layout = &kFooter584,
                         .page_size = 64,
                         .page_stride = kPageBytes,
                         .ue8m0 = reading,
                         .pool = record.first(kPageBytes),
                         .slots = slots},
                        absl::MakeSpan(values)));
  int wrong = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    const std::uint8_t* out = record.data() + kPageBytes + 2 * i;
    std::uint16_t value = values[i];
    if (flushed && (value & 0x7f80) == 0) value &= 0x8000;
    wrong += PutOut(value) != (out[0] | out[1] << 8);
  }
  return wrong;
}

TEST(RecordedFlashMla, EveryWordOfALoneKeyIsPredicted) {
  for (std::size_t k = 0; k < std::size(kSingleKeys); ++k) {
    EXPECT_EQ(Wrong(k, {}, false), 0) << kSingleKeys[k].name;
  }
}

// Scale byte 0 is 2^-127 there. Subnormal values are kept when a row is read
// and flushed later: flushed at once, 26 zeros would lack their sign.
TEST(RecordedFlashMla, OtherReadingsAreBelied) {
  EXPECT_GT(Wrong(2, {.zero = Ue8m0Reading::Zero::kZero}, false), 0);
  EXPECT_EQ(Wrong(2, {}, true), 26);
}

}  // namespace
}  // namespace mlafuzz::oracle
