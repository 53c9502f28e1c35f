#include "corpus/image.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

Case Parse(const std::string& text) {
  absl::StatusOr<Case> c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status();
  return c.ok() ? *c : Case();
}

template <typename T>
std::vector<T> As(const Tensor& t) {
  std::vector<T> out(t.bytes.size() / sizeof(T));
  std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

TEST(Image, PoolWithStridesAndOffset) {
  const Case c = Parse(R"(
pool { page_size: 2 pages: 3 row_stride: 672 page_stride: 1360 offset: 24
       fill { byte: 0x7f }
       patches { slot: 3 at: 512 data: "\x01\x02" } }
steps { patch { slot: 0 data: "x" } })");
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status();
  const PoolImage& pool = image->pool;
  EXPECT_EQ(pool.bytes.size(), 24u + 3 * 1360);
  EXPECT_EQ(pool.RowAt(3), 24 + 1360 + 672);
  EXPECT_EQ(pool.bytes[pool.RowAt(3) + 512], 1);
  EXPECT_EQ(pool.bytes[pool.RowAt(3) + 513], 2);
  EXPECT_EQ(pool.bytes[pool.RowAt(5) + 655], 0x7f);
  // Gaps are poison, not fill: of 16 gap bytes some differ from 0x7f.
  int other = 0;
  for (int i = 656; i < 672; ++i)
    other += pool.bytes[pool.RowAt(0) + i] != 0x7f;
  EXPECT_GT(other, 8);
}

// A stored case means the same for ever: sums of what each kind of fill puts
// into the pools of every layout.
TEST(Image, FillsAreWhatTheyWere) {
  const std::uint64_t golden[Fill::Kind_ARRAYSIZE] = {
      0x61c20f6e07dc3e85, 0xe3cf13bca8b7d779, 0x26191ed3801f2129,
      0x251731386475ba29, 0xc0bf7e1ed51ad476};
  for (int kind = 0; kind < Fill::Kind_ARRAYSIZE; ++kind) {
    std::uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a
    for (const TokenLayout& layout : TokenLayouts()) {
      for (int scales = 0; scales < Fill::Scales_ARRAYSIZE; ++scales) {
        for (const int row_bytes : {0, layout.token_bytes + 9, 130}) {
          Case c = Parse("pool { page_size: 3 pages: 2 page_stride: 2500 }");
          Pool& pool = *c.mutable_pool();
          pool.set_layout(layout.layout);
          pool.set_row_bytes(static_cast<std::uint32_t>(row_bytes));
          pool.mutable_fill()->set_kind(static_cast<Fill::Kind>(kind));
          pool.mutable_fill()->set_scales(static_cast<Fill::Scales>(scales));
          pool.mutable_fill()->set_seed(11);
          pool.mutable_fill()->set_byte(kind == Fill::BYTE ? 0xa5 : 0);
          const auto image = BuildImage(c);
          ASSERT_TRUE(image.ok()) << image.status();
          for (const std::uint8_t byte : image->pool.bytes) {
            sum = (sum ^ byte) * 0x100000001b3u;
          }
        }
      }
    }
    EXPECT_EQ(sum, golden[kind]) << Fill::Kind_Name(kind) << std::hex << sum;
  }
}

// Rows that are too short for their layout's parts end where they end.
TEST(Image, NoFillLeavesItsRows) {
  for (const TokenLayout& layout : TokenLayouts()) {
    for (int kind = 1; kind < Fill::Kind_ARRAYSIZE; ++kind) {
      for (int row_bytes = 1; row_bytes < layout.token_bytes; row_bytes += 13) {
        Case c = Parse("pool { page_size: 1 pages: 2 page_stride: 1200 }");
        Pool& pool = *c.mutable_pool();
        pool.set_layout(layout.layout);
        pool.set_row_bytes(static_cast<std::uint32_t>(row_bytes));
        const auto poisoned = BuildImage(c);
        pool.mutable_fill()->set_kind(static_cast<Fill::Kind>(kind));
        const auto filled = BuildImage(c);
        ASSERT_TRUE(poisoned.ok() && filled.ok());
        for (std::size_t i = 0; i < filled->pool.bytes.size(); ++i) {
          if (static_cast<int>(i % 1200) < row_bytes) continue;
          ASSERT_EQ(filled->pool.bytes[i], poisoned->pool.bytes[i])
              << layout.name << " kind " << kind << " row of " << row_bytes
              << ", byte " << i;
        }
      }
    }
  }
}

TEST(Image, PoisonSeedChangesGapsAndOutputsOnly) {
  const std::string text = R"(
pool { page_size: 2 pages: 1 row_stride: 672 fill { kind: ROWS seed: 1 } }
steps { write { slots { values: 1 } pe_dim: 64 surplus_rows: 1
                kv_c { pattern: MIXED seed: 3 } kv_c_row_stride: 520
                k_pe { pattern: RANDOM_BITS seed: 4 } } }
steps { gather { block_table { rows: 1 columns: 1 row_stride: 3
                               pages { values: 0 } }
                 workspace_starts: 0 dst_rows: 2 } }
poison: )";
  const Case a = Parse(text + "1"), b = Parse(text + "2");
  absl::StatusOr<CaseImage> ia = BuildImage(a), ib = BuildImage(b);
  ASSERT_TRUE(ia.ok() && ib.ok());
  for (std::int64_t slot = 0; slot < 2; ++slot) {
    EXPECT_EQ(0,
              std::memcmp(ia->pool.bytes.data() + ia->pool.RowAt(slot),
                          ib->pool.bytes.data() + ib->pool.RowAt(slot), 656));
  }
  EXPECT_NE(ia->pool.bytes, ib->pool.bytes);
  const Tensor& ka = *ia->steps[0].Find(TensorId::kKvC);
  const Tensor& kb = *ib->steps[0].Find(TensorId::kKvC);
  EXPECT_EQ(0, std::memcmp(ka.bytes.data(), kb.bytes.data(), 1024));
  EXPECT_NE(ka.bytes, kb.bytes);  // the gap and the surplus row
  EXPECT_EQ(ka.bytes.size(), (520u + 512) * 2);
  EXPECT_NE(ia->steps[1].Find(TensorId::kDst)->bytes,
            ib->steps[1].Find(TensorId::kDst)->bytes);
}

TEST(Image, NarrowedTableKeepsItsStride) {
  const Case c = Parse(R"(
pool { page_size: 1 pages: 9 }
steps { gather { block_table { rows: 2 columns: 2 row_stride: 5
                               pages { values: [8, 7, 6] } }
                 workspace_starts: [0, 1] dst_rows: 2 } })");
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok());
  const Tensor& t = *image->steps[0].Find(TensorId::kBlockTable);
  const auto entries = As<std::int32_t>(t);
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[0], 8);
  EXPECT_EQ(entries[1], 7);
  EXPECT_EQ(entries[5], 6);
  EXPECT_EQ(entries[6], -1);
  for (int gap : {2, 3, 4}) {
    EXPECT_GE(entries[gap], 0);
    EXPECT_LT(entries[gap], 9);
  }
}

TEST(Image, ExpandedTableHasOneRow) {
  const Case c = Parse(R"(
pool { page_size: 1 pages: 2 }
steps { gather { block_table { rows: 3 columns: 2 expanded: true
                               pages { count: 2 } }
                 workspace_starts: [0, 1, 2] dst_rows: 3 } })");
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok());
  const Tensor& t = *image->steps[0].Find(TensorId::kBlockTable);
  EXPECT_EQ(t.bytes.size(), 8u);
  EXPECT_EQ(t.shape[0], 3);
  EXPECT_EQ(t.strides[0], 0);
}

TEST(Image, ConvertTensors) {
  const Case c = Parse(R"(
pool { page_size: 4 pages: 2 }
steps { convert { request_ids { values: [1, 0] }
                  token_indices { rows: 2 width: 3 valid: 2 limit: 8
                                  set { at: 5 value: -9 } }
                  block_table { rows: 2 columns: 1 pages { count: 2 } }
                  valid_count: true } })");
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status();
  const StepImage& step = image->steps[0];
  EXPECT_EQ(As<std::int32_t>(*step.Find(TensorId::kRequestIds)),
            (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(As<std::int32_t>(*step.Find(TensorId::kTokenIndices))[5], -9);
  EXPECT_TRUE(step.Find(TensorId::kOut)->output);
  EXPECT_EQ(step.Find(TensorId::kValidCount)->shape[0], 2);
}

TEST(Image, DecodeTensors) {
  const Case c = Parse(R"(
pool { page_size: 4 pages: 2 fill { kind: FINITE_ROWS seed: 3 } }
steps { decode { queries: 2 heads: 3 pe_dim: 64 q { pattern: SMALL_INTEGERS }
                 indices { rows: 2 width: 5 valid: 4 limit: 8 }
                 lengths: [5, 1] sink_bits: [0x3f800000, 0, 0xff800000]
                 softmax_scale_bits: 0x3d800000 } })");
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status();
  const StepImage& step = image->steps[0];
  const Tensor& q = *step.Find(TensorId::kQ);
  EXPECT_EQ(q.ndim, 3);
  EXPECT_EQ(q.shape, (std::array<std::int64_t, 3>{2, 3, 576}));
  EXPECT_EQ(q.strides, (std::array<std::int64_t, 3>{3 * 576, 576, 1}));
  EXPECT_EQ(step.Find(TensorId::kAttention)->bytes.size(), 2u * 3 * 512 * 2);
  EXPECT_EQ(step.Find(TensorId::kLse)->bytes.size(), 2u * 3 * 4);
  EXPECT_EQ(As<std::uint32_t>(*step.Find(TensorId::kSinks))[2], 0xff800000u);
  for (std::int64_t slot = 0; slot < 8; ++slot) {
    for (int i = 0; i < 512; ++i) {
      ASSERT_NE(image->pool.bytes[image->pool.RowAt(slot) + i] & 0x7f, 0x7f);
    }
  }
}

// Heads and queries apart: the same values at other places.
TEST(Image, DecodeStrides) {
  const std::string dense = R"(
pool { page_size: 4 pages: 2 }
steps { decode { queries: 2 heads: 3 pe_dim: 64
                 q { pattern: NORMAL_RANGE seed: 5 }
                 indices { rows: 2 width: 1 valid: 1 limit: 8 }
                 softmax_scale_bits: 0x3d800000 )";
  absl::StatusOr<CaseImage> plain = BuildImage(Parse(dense + "} }"));
  const Case apart =
      Parse(dense +
            "q_head_stride: 584 q_query_stride: 1800 out_head_stride: 520 "
            "lse_query_stride: 5 } }");
  absl::StatusOr<CaseImage> image = BuildImage(apart);
  ASSERT_TRUE(plain.ok() && image.ok()) << image.status();
  const StepImage& step = image->steps[0];
  const Tensor& q = *step.Find(TensorId::kQ);
  EXPECT_EQ(q.shape, (std::array<std::int64_t, 3>{2, 3, 576}));
  EXPECT_EQ(q.strides, (std::array<std::int64_t, 3>{1800, 584, 1}));
  EXPECT_EQ(q.bytes.size(), 2u * (1800 + 2 * 584 + 576));
  const Tensor& out = *step.Find(TensorId::kAttention);
  EXPECT_EQ(out.strides, (std::array<std::int64_t, 3>{3 * 520, 520, 1}));
  EXPECT_EQ(step.Find(TensorId::kLse)->strides[0], 5);
  const auto had = As<std::uint16_t>(*plain->steps[0].Find(TensorId::kQ));
  const auto has = As<std::uint16_t>(q);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t c = 0; c < 576; ++c) {
      ASSERT_EQ(has[row / 3 * 1800 + row % 3 * 584 + c], had[576 * row + c]);
    }
  }
}

struct Refusal {
  const char* text;
  const char* words;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesTheField) {
  const Case c = Parse(GetParam().text);
  absl::StatusOr<CaseImage> image = BuildImage(c);
  ASSERT_FALSE(image.ok());
  EXPECT_TRUE(absl::StrContains(image.status().message(), GetParam().words))
      << image.status();
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        Refusal{"steps { patch {} }", "pool.page_size"},
        Refusal{"pool { page_size: 1 }", "pool.pages"},
        Refusal{"pool { page_size: 1 pages: 1 } format: 9", "format"},
        Refusal{"pool { page_size: 4000000000 pages: 4000000000 }", "pool"},
        Refusal{"pool { page_size: 1 pages: 1 } steps {}", "steps[0]"},
        Refusal{"pool { page_size: 1 pages: 1 } steps { patch { slot: 1 } }",
                "steps[0].patch.slot"},
        Refusal{"pool { page_size: 1 pages: 1 } "
                "steps { patch { at: 655 data: 'ab' } }",
                "steps[0].patch.data"},
        Refusal{"pool { page_size: 1 pages: 1 } "
                "steps { write { slots { count: 4000000000 } } }",
                "slots"},
        Refusal{"pool { page_size: 1 pages: 1 } "
                "steps { write { slots { count: 1 } input: I64 } }",
                "write.input"},
        Refusal{"pool { page_size: 1 pages: 1 } steps { gather { "
                "block_table { rows: 1 columns: 4 row_stride: 3 } } }",
                "block_table.row_stride"},
        Refusal{"pool { page_size: 1 pages: 1 } steps { convert { "
                "token_indices { rows: 70000 width: 70000 } } }",
                "token_indices"}));

}  // namespace
}  // namespace mlafuzz
