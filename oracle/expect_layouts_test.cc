// Expect() on pools of every layout against the functions of oracle/layouts,
// which are held to recorded runs: what a writer leaves, what a gather reads,
// what one copies; and all 256 codes under all 256 scale bytes, by either
// reading of the bytes at the ends.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"
#include "oracle/expect.h"
#include "oracle/layouts/indexer_gather.h"
#include "oracle/layouts/page_layout.h"
#include "oracle/layouts/page_read.h"
#include "oracle/layouts/page_write.h"
#include "oracle/validity.h"

namespace mlafuzz {
namespace {

using oracle::PageLayout;

const PageLayout& PageOf(const TokenLayout& token) {
  for (const PageLayout* page : oracle::PageLayouts()) {
    if (std::string(page->name) == token.name) return *page;
  }
  ADD_FAILURE() << token.name;
  return oracle::kRow656;
}

absl::Span<const std::uint16_t> Elements(const Tensor* tensor) {
  if (tensor == nullptr) return {};
  return {reinterpret_cast<const std::uint16_t*>(tensor->bytes.data()),
          tensor->bytes.size() / 2};
}

class EachLayout : public testing::TestWithParam<TokenLayout> {
 protected:
  // A pool of this layout with a gap behind each page.
  Case WithPool(std::uint64_t seed, std::uint32_t page_size) const {
    Case c;
    Pool& pool = *c.mutable_pool();
    pool.set_layout(GetParam().layout);
    pool.set_page_size(page_size);
    pool.set_pages(3);
    pool.set_page_stride(static_cast<std::uint64_t>(
        PageOf(GetParam()).PageBytes(page_size) + GetParam().alignment));
    pool.set_offset(static_cast<std::uint32_t>(GetParam().alignment));
    pool.mutable_fill()->set_kind(Fill::ROWS);
    pool.mutable_fill()->set_scales(Fill::MIXED_SCALES);
    pool.mutable_fill()->set_seed(seed);
    c.set_poison(seed);
    return c;
  }
};

TEST_P(EachLayout, AWriterLeavesWhatWritePagesDoes) {
  const Contract contract = BuiltinContract(GetParam().layout);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c = WithPool(seed, 1 + seed % 5);
    Write& write = *c.add_steps()->mutable_write();
    write.mutable_slots()->set_order(Integers::PERMUTED);
    write.mutable_slots()->set_seed(seed);
    write.mutable_slots()->add_values(-1);
    write.mutable_slots()->set_count(4);
    write.set_pe_dim(static_cast<std::uint32_t>(GetParam().rope));
    if (seed % 3 == 0) write.set_input(F16);
    write.mutable_kv_c()->set_pattern(Values::MIXED);
    write.mutable_kv_c()->set_seed(seed);
    write.set_kv_c_row_stride(
        static_cast<std::uint32_t>(GetParam().codes + 8 * (seed % 2)));
    if (GetParam().rope > 0) {
      write.mutable_k_pe()->set_pattern(Values::RANDOM_BITS);
      write.mutable_k_pe()->set_seed(seed);
    }
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    ASSERT_EQ(Classify(contract, *image, 0).validity, Validity::kValid)
        << Classify(contract, *image, 0).reason;
    const StepImage& step = image->steps[0];
    const Tensor& kv_c = *step.Find(TensorId::kKvC);
    const Tensor* k_pe = step.Find(TensorId::kKPe);
    const Tensor& slots = *step.Find(TensorId::kSlotMapping);
    std::vector<std::int64_t> slot_list(4);
    std::memcpy(slot_list.data(), slots.bytes.data(), 32);
    const oracle::PageWrite pages = {
        .layout = &PageOf(GetParam()),
        .page_size = image->pool.page_size,
        .page_stride = image->pool.page_stride,
        .input = kv_c.dtype,
        .latent = Elements(&kv_c),
        .stride = kv_c.strides[0],
        .rope = Elements(k_pe),
        .rope_stride = k_pe == nullptr ? 0 : k_pe->strides[0],
        .tokens = 4,
        .slots = slot_list};
    std::vector<std::uint8_t> want = image->pool.bytes;
    ASSERT_TRUE(
        oracle::WritePages(contract.writer(), pages,
                           absl::MakeSpan(want).subspan(
                               static_cast<std::size_t>(image->pool.offset))));
    const Expectation got = Expect(contract, *image, 0, image->pool.bytes);
    EXPECT_EQ(got.pool, want) << seed;
    EXPECT_TRUE(got.unsettled.empty());
  }
}

// One request, its pages in reverse order.
Gather& AddGather(Case& c, bool copied, std::uint32_t rows) {
  Gather& gather = *c.add_steps()->mutable_gather();
  gather.set_dst_rows(rows);
  gather.add_workspace_starts(0);
  if (copied) gather.add_workspace_starts(static_cast<std::int32_t>(rows));
  Table& table = *gather.mutable_block_table();
  table.set_rows(1);
  table.set_columns(3);
  for (const std::int64_t page : {2, 1, 0}) {
    table.mutable_pages()->add_values(page);
  }
  return gather;
}

TEST_P(EachLayout, AGatherReadsWhatReadPagesDoes) {
  if (GetParam().copied) GTEST_SKIP() << "its gather copies";
  const Contract contract = BuiltinContract(GetParam().layout);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::uint32_t page_size = 1 + seed % 4;
    Case c = WithPool(seed, page_size);
    AddGather(c, false, 3 * page_size);
    const absl::StatusOr<CaseImage> image = BuildImage(c);
    ASSERT_TRUE(image.ok()) << image.status();
    ASSERT_EQ(Classify(contract, *image, 0).validity, Validity::kValid);
    std::vector<std::int64_t> slots;
    for (std::uint32_t i = 0; i < 3 * page_size; ++i) {
      slots.push_back((2 - i / page_size) * page_size + i % page_size);
    }
    const oracle::PageRead read = {
        .layout = &PageOf(GetParam()),
        .page_size = image->pool.page_size,
        .page_stride = image->pool.page_stride,
        .ue8m0 = {},
        .pool = absl::MakeConstSpan(image->pool.bytes)
                    .subspan(static_cast<std::size_t>(image->pool.offset)),
        .slots = slots};
    std::vector<std::uint16_t> want(
        slots.size() * static_cast<std::size_t>(GetParam().dst_columns()));
    ASSERT_TRUE(oracle::ReadPages(read, absl::MakeSpan(want)));
    const Expectation got = Expect(contract, *image, 0, image->pool.bytes);
    ASSERT_EQ(got.outputs[0].size(), 2 * want.size());
    EXPECT_EQ(std::memcmp(got.outputs[0].data(), want.data(), 2 * want.size()),
              0)
        << seed;
  }
}

TEST_P(EachLayout, AGatherCopiesWhatGatherIndexerDoes) {
  if (!GetParam().copied) GTEST_SKIP() << "its gather dequantises";
  for (const auto loads :
       {GatherContract::LOADS_EXACT, GatherContract::LOADS_FROM_BOUNDARY}) {
    Contract contract = BuiltinContract(GetParam().layout);
    contract.mutable_gather()->set_code_loads(loads);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::uint32_t page_size = 1 + seed % 4;
      Case c = WithPool(seed, page_size);
      // The functions count boundaries from page 0.
      c.mutable_pool()->clear_offset();
      AddGather(c, true, 3 * page_size)
          .set_dst_row_stride(static_cast<std::uint32_t>(GetParam().codes + 8));
      const absl::StatusOr<CaseImage> image = BuildImage(c);
      ASSERT_TRUE(image.ok()) << image.status();
      ASSERT_EQ(Classify(contract, *image, 0).validity, Validity::kValid);
      const std::int32_t table[] = {2, 1, 0};
      const std::int32_t starts[] = {0,
                                     static_cast<std::int32_t>(3 * page_size)};
      const oracle::IndexerGather gather = {
          .layout = &PageOf(GetParam()),
          .page_size = image->pool.page_size,
          .page_stride = image->pool.page_stride,
          .cache = image->pool.bytes,
          .table = table,
          .table_width = 3,
          .starts = starts,
          .rows = 3 * page_size,
          .dst_stride = GetParam().codes + 8};
      const StepImage& step = image->steps[0];
      std::vector<std::uint8_t> codes = step.tensors[0].bytes;
      std::vector<std::uint8_t> scales = step.tensors[1].bytes;
      ASSERT_EQ(step.tensors[1].id, TensorId::kDstScales);
      ASSERT_TRUE(oracle::GatherIndexer(
          gather,
          {.codes_from_boundary = loads == GatherContract::LOADS_FROM_BOUNDARY},
          absl::MakeSpan(codes), absl::MakeSpan(scales)));
      const Expectation got = Expect(contract, *image, 0, image->pool.bytes);
      EXPECT_EQ(got.outputs[0], codes) << seed;
      EXPECT_EQ(got.outputs[1], scales) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachLayout,
                         testing::ValuesIn(TokenLayouts().begin(),
                                           TokenLayouts().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Scale byte by scale byte, every code; by all four readings of the ends.
TEST(Ue8m0, EveryCodeUnderEveryScaleByte) {
  for (const Ue8m0Zero zero : {ZERO_IS_SUBNORMAL, ZERO_IS_ZERO}) {
    for (const Ue8m0Last last : {LAST_IS_NAN, LAST_IS_INF}) {
      Contract contract = BuiltinContract(DSV4_1_FOOTER_528);
      contract.mutable_gather()->set_ue8m0_zero(zero);
      contract.mutable_gather()->set_ue8m0_last(last);
      Case c;
      c.mutable_pool()->set_layout(DSV4_1_FOOTER_528);
      c.mutable_pool()->set_page_size(256);
      c.mutable_pool()->set_pages(1);
      Gather& gather = AddGather(c, false, 256);
      gather.mutable_block_table()->mutable_pages()->set_values(0, 0);
      absl::StatusOr<CaseImage> image = BuildImage(c);
      ASSERT_TRUE(image.ok()) << image.status();
      for (int byte = 0; byte < 256; ++byte) {
        for (int i = 0; i < 528; ++i) {
          image->pool
              .bytes[static_cast<std::size_t>(image->pool.ByteAt(byte, i))] =
              static_cast<std::uint8_t>(i < 512 ? i : byte);
        }
      }
      const Expectation got = Expect(contract, *image, 0, image->pool.bytes);
      std::vector<std::int64_t> slots(256);
      for (int i = 0; i < 256; ++i) slots[static_cast<std::size_t>(i)] = i;
      const oracle::PageRead read = {
          .layout = &oracle::kFooter528,
          .page_size = 256,
          .page_stride = image->pool.page_stride,
          .ue8m0 = {.zero = zero == ZERO_IS_ZERO
                                ? oracle::Ue8m0Reading::Zero::kZero
                                : oracle::Ue8m0Reading::Zero::kSubnormal,
                    .last = last == LAST_IS_INF
                                ? oracle::Ue8m0Reading::Last::kInf
                                : oracle::Ue8m0Reading::Last::kNan},
          .pool = image->pool.bytes,
          .slots = slots};
      std::vector<std::uint16_t> want(256 * 512);
      ASSERT_TRUE(oracle::ReadPages(read, absl::MakeSpan(want)));
      EXPECT_EQ(
          std::memcmp(got.outputs[0].data(), want.data(), 2 * want.size()), 0);
    }
  }
}

}  // namespace
}  // namespace mlafuzz
