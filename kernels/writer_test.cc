#include <cstring>

#include "gtest/gtest.h"
#include "kernels/case_checks.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

// The pool that a writer must leave behind: every non-negative slot's row
// replaced, all other bytes as they were.
std::vector<std::uint8_t> ExpectedPool(const CaseImage& image, bool pow2) {
  const StepImage& step = image.steps.at(0);
  const Tensor& kv_c = *step.Find(TensorId::kKvC);
  const Tensor* k_pe = step.Find(TensorId::kKPe);
  const Tensor& slots = *step.Find(TensorId::kSlotMapping);
  std::vector<std::uint8_t> pool = image.pool.bytes;
  for (std::int64_t token = 0; token < slots.shape[0]; ++token) {
    std::int64_t slot;
    std::memcpy(&slot, &slots.bytes[8 * token], 8);
    if (slot < 0) continue;
    std::uint16_t latent[512];
    std::memcpy(latent, &kv_c.bytes[2 * token * kv_c.strides[0]], 1024);
    const auto row = test::QuantisedRow(latent, kv_c.dtype == F16, pow2);
    std::uint8_t* to = &pool[image.pool.RowAt(slot)];
    std::memcpy(to, row.data(), row.size());
    if (k_pe != nullptr) {
      std::memcpy(to + 528, &k_pe->bytes[2 * token * k_pe->strides[0]], 128);
    } else {
      std::memset(to + 528, 0, 128);
    }
  }
  return pool;
}

void ExpectRight(const std::string& target, const CaseImage& image) {
  const Observation seen = test::Run(target, image);
  ASSERT_EQ(seen.steps.size(), 1u);
  const StepObservation& step = seen.steps[0];
  EXPECT_EQ(step.status, CallStatus::kOk) << step.message;
  EXPECT_TRUE(step.strays.empty());
  EXPECT_TRUE(step.reports.empty());
  const std::vector<std::uint8_t> want =
      ExpectedPool(image, target == "builtin:pow2");
  const std::vector<std::uint8_t>& got =
      step.pool.has_value() ? *step.pool : image.pool.bytes;
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i], want[i]) << "byte " << i;
  }
}

void ExpectRightEverywhere(const std::string& text) {
  for (const char* target : {"builtin", "builtin:pow2"}) {
    SCOPED_TRACE(target);
    ExpectRight(target, test::Image(test::ParseCase(text)));
  }
  // The control has raw scales only.
  ExpectRight("control:thread-mapping", test::Image(test::ParseCase(text)));
  // And so has Kimi-K3's, which refuses rows without rope.
  const Case c = test::ParseCase(text);
  if (c.steps(0).write().pe_dim() == 64) {
    ExpectRight("builtin:kimi-k3", test::Image(c));
  }
}

TEST(Writer, EveryPatternOfBothInputTypes) {
  for (const char* input : {"BF16", "F16"}) {
    for (int pattern = 0; pattern <= Values::Pattern_MAX; ++pattern) {
      const std::string name =
          Values::Pattern_Name(static_cast<Values::Pattern>(pattern));
      SCOPED_TRACE(std::string(input) + " " + name);
      ExpectRightEverywhere(
          "pool { page_size: 4 pages: 3 fill { kind: RANDOM_BYTES seed: 5 } }"
          "steps { write { input: " +
          std::string(input) +
          "  slots { values: [7, 0, 11, 4] }  pe_dim: 64"
          "  kv_c { pattern: " +
          name +
          " seed: 3 bits: 0x3f81 }"
          "  k_pe { pattern: RANDOM_BITS seed: 4 } } }");
    }
  }
}

TEST(Writer, NopeTailIsZero) {
  ExpectRightEverywhere(R"pb(
    pool {
      page_size: 2
      pages: 2
      fill { kind: BYTE byte: 0xa5 }
    }
    steps {
      write {
        slots { values: [ 1, 2 ] }
        kv_c { pattern: NORMAL_RANGE seed: 1 }
      }
    })pb");
}

TEST(Writer, NegativeSlotsAreSkipped) {
  ExpectRightEverywhere(R"pb(
    pool { page_size: 2 pages: 2 }
    steps {
      write {
        slots { values: [ -1, 3, -2, -16, -4294967296, -9223372036854775808 ] }
        pe_dim: 64
        kv_c { pattern: NORMAL_RANGE seed: 1 }
      }
    })pb");
}

TEST(Writer, StridesAndOffsets) {
  ExpectRightEverywhere(R"pb(
    pool {
      page_size: 3
      pages: 2
      row_stride: 704
      page_stride: 2400
      offset: 40
      fill { kind: RANDOM_BYTES seed: 9 }
    }
    poison: 77
    steps {
      write {
        slots { count: 6 order: PERMUTED seed: 2 }
        pe_dim: 64
        kv_c { pattern: MIXED seed: 1 }
        k_pe { pattern: RANDOM_BITS seed: 2 }
        kv_c_row_stride: 520
        k_pe_row_stride: 66
        kv_c_offset: 8
        k_pe_offset: 2
        surplus_rows: 2
      }
    })pb");
}

TEST(Writer, NoTokens) {
  ExpectRightEverywhere(
      "pool { page_size: 1 pages: 1 } steps { write { pe_dim: 64 } }");
}

TEST(Writer, EveryScheduleGivesTheSame) {
  const Case c = test::ParseCase(R"pb(
    pool { page_size: 2 pages: 2 }
    steps {
      write {
        slots { values: [ 3, 0, 1 ] }
        pe_dim: 64
        kv_c { pattern: OCTAVES seed: 1 }
        k_pe { pattern: RANDOM_BITS seed: 2 }
      }
    })pb");
  test::ExpectEveryScheduleGivesTheSame("builtin", c);
}

// Numbers that were measured on a real writer.
TEST(Writer, KnownScales) {
  const auto scale_and_code = [](unsigned bits) {
    Case c = test::ParseCase(
        "pool { page_size: 1 pages: 1 } steps { write { slots { values: 0 }"
        "  kv_c { pattern: CONSTANT } } }");
    c.mutable_steps(0)->mutable_write()->mutable_kv_c()->set_bits(bits);
    const Observation seen = test::Run("builtin", test::Image(c));
    std::uint32_t scale;
    std::memcpy(&scale, &seen.steps[0].pool->at(512), 4);
    return std::make_pair(scale, unsigned{seen.steps[0].pool->at(0)});
  };
  EXPECT_EQ(scale_and_code(0x43a8), std::make_pair(0x3f400000u, 0x7eu));  // 336
  EXPECT_EQ(scale_and_code(0x8000), std::make_pair(0x00800000u, 0x80u));  // -0
  EXPECT_EQ(scale_and_code(0x7fc1), std::make_pair(0x00800000u, 0x7fu));  // NaN
  EXPECT_EQ(scale_and_code(0xff81), std::make_pair(0x00800000u, 0x7fu));
  EXPECT_EQ(scale_and_code(0x7f80), std::make_pair(0x7f800000u, 0x7fu));  // Inf
}

}  // namespace
}  // namespace mlafuzz
