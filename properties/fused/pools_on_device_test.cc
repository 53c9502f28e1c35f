// Pools that a device fills hold, byte for byte, what BuildImage() gives them.

#include "properties/fused/pools_on_device.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/token_layout.h"
#include "gtest/gtest.h"
#include "kernels/foreign/lent_memory.h"
#include "properties/choices.h"
#include "properties/fused/fused_case.h"
#include "properties/fused/lent_layout.h"

namespace mlafuzz {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

// What members of a call have in common.
Case DrawShape(const TokenLayout& layout, Choices& choices) {
  Case c;
  Pool& pool = *c.mutable_pool();
  pool.set_layout(layout.layout);
  pool.set_page_size(1 + choices.Below(9));
  if (choices.Below(3) == 0) {
    // Too few for some of the layout's parts, or more than all.
    pool.set_row_bytes(
        1 + choices.Below(static_cast<std::uint32_t>(layout.token_bytes) + 40));
  }
  const std::uint32_t row =
      pool.row_bytes() != 0 ? pool.row_bytes()
                            : static_cast<std::uint32_t>(layout.token_bytes);
  if (!layout.split() && choices.Below(3) == 0) {
    pool.set_row_stride(row + choices.Below(30));
  }
  if (choices.Below(3) == 0) {
    const std::uint32_t stride =
        pool.row_stride() != 0 ? pool.row_stride() : row;
    pool.set_page_stride(std::uint64_t{pool.page_size()} * stride + 600 +
                         choices.Below(50));
  }
  Write& write = *c.add_steps()->mutable_write();
  write.mutable_slots()->add_values(0);
  write.set_pe_dim(static_cast<std::uint32_t>(layout.rope));
  return c;
}

// What each has of its own.
void DrawMember(Choices& choices, Case& c) {
  c.set_poison(choices.Word());
  Pool& pool = *c.mutable_pool();
  pool.set_pages(1 + choices.Below(4));
  if (choices.Below(3) == 0) pool.set_offset(choices.Below(70));
  Fill& fill = *pool.mutable_fill();
  fill.set_kind(static_cast<Fill::Kind>(choices.Below(Fill::Kind_ARRAYSIZE)));
  fill.set_scales(
      static_cast<Fill::Scales>(choices.Below(Fill::Scales_ARRAYSIZE)));
  if (fill.kind() == Fill::BYTE) fill.set_byte(choices.Below(256));
  fill.set_seed(choices.Word());
  const auto image = BuildImage(c);
  ASSERT_TRUE(image.ok()) << image.status();
  const auto row = static_cast<std::uint32_t>(image->pool.row_bytes);
  // Some over each other, some across the end of what lies in the row.
  for (std::uint32_t i = choices.Below(4); i > 0; --i) {
    Patch& patch = *pool.add_patches();
    patch.set_slot(choices.Below(pool.pages() * pool.page_size()));
    patch.set_at(choices.Below(row));
    std::string& data = *patch.mutable_data();
    for (std::uint32_t n = 1 + choices.Below(row - patch.at()); n > 0; --n) {
      data.push_back(static_cast<char>(choices.Below(256)));
    }
  }
}

// All bytes of a call after it was filled, brought and lent.
absl::Status Lent(LentMemory& memory, const FusedCase& fused,
                  const LentLayout& layout, const std::uint8_t** bytes) {
  const auto inputs = memory.Inputs(layout.used());
  if (!inputs.ok()) return inputs.status();
  // Nothing of the pool comes from here.
  std::memset(*inputs, 0xee, layout.used());
  layout.Lay(*inputs, 1);
  std::vector<MlafuzzRange> ranges;
  layout.AddLaid(&ranges);
  for (const auto& [begin, end] : ranges) {
    if (absl::Status s = memory.Bring(begin, end); !s.ok()) return s;
  }
  std::uint64_t copied = 0;
  PoolsOnDevice pools(fused, layout, memory, copied);
  constexpr std::uint64_t kAt = 256;
  const auto rows = memory.Rows(kAt + pools.plan_bytes());
  if (!rows.ok()) return rows.status();
  pools.PlanAt(*rows + kAt, kAt);
  for (std::size_t m = fused.members().size(); m > 0; --m) pools.Plan(m - 1);
  if (absl::Status s = pools.Begin(); !s.ok()) return s;
  if (absl::Status s = memory.Lend(0, layout.used()); !s.ok()) return s;
  if (absl::Status s = memory.Settle(); !s.ok()) return s;
  const auto results = memory.Results(layout.used());
  if (!results.ok()) return results.status();
  *bytes = *results;
  return memory.Fetch(0, layout.used());
}

TEST(PoolsOnDevice, HoldWhatTheirCasesSay) {
  auto memory = LentMemory::Create(0, kBytes);
  if (!memory.ok()) {
    // A lender that is named is to be there.
    ASSERT_EQ(std::getenv("MLAFUZZ_CUDA_LENDER"), nullptr) << memory.status();
    GTEST_SKIP() << "nothing is lent: " << memory.status().message();
  }
  int filled = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const TokenLayout& layout : TokenLayouts()) {
      Choices choices(seed);
      const Case shape = DrawShape(layout, choices);
      std::deque<Case> cases;
      std::deque<CaseImage> images;
      std::vector<const CaseImage*> members;
      for (std::uint32_t n = 1 + choices.Below(5); n > 0; --n) {
        cases.push_back(shape);
        DrawMember(choices, cases.back());
        auto image = BuildImage(cases.back());
        ASSERT_TRUE(image.ok()) << image.status();
        images.push_back(*std::move(image));
        members.push_back(&images.back());
      }
      const FusedCase fused(members);
      const LentLayout on_device(fused, 0, /*fill_from=*/0);
      const LentLayout brought(fused, 0, /*fill_from=*/kBytes);
      ASSERT_TRUE(on_device.FillsPool());
      ASSERT_FALSE(brought.FillsPool());
      ASSERT_EQ(on_device.used(), brought.used());
      std::vector<std::uint8_t> expected(brought.used());
      brought.Lay(expected.data(), 1);
      const std::uint8_t* bytes = nullptr;
      const absl::Status s = Lent(**memory, fused, on_device, &bytes);
      ASSERT_TRUE(s.ok()) << s;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(bytes[i], expected[i])
            << layout.name << " seed " << seed << " byte " << i << ", pool at "
            << brought.pool().begin << "\n"
            << FormatCaseText(cases.front());
      }
      filled += static_cast<int>(members.size());
    }
  }
  EXPECT_GT(filled, 5000);
}

}  // namespace
}  // namespace mlafuzz
