// Every scale byte on either side: what a writer makes of every largest value's
// exponent, and what a gather makes of every code under every byte. Where the
// bytes of a page stand, by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

const std::vector<std::uint8_t>& PoolAfter(const CaseImage& image,
                                           const Observation& seen) {
  EXPECT_EQ(seen.steps[0].status, CallStatus::kOk) << seen.steps[0].message;
  return seen.steps[0].pool.has_value() ? *seen.steps[0].pool
                                        : image.pool.bytes;
}

// The bf16 of 1.75 * 2^exponent, that is 448 * 2^(exponent - 8), `steps` beside
// it.
std::uint16_t Amax(int exponent, int steps) {
  return static_cast<std::uint16_t>(((exponent + 127) << 7 | 0x60) + steps);
}

TEST(Ue8m0, AWriterMakesEveryScaleByte) {
  for (const std::string target : {"builtin:dsv4", "builtin:dsv4_1"}) {
    const bool dsv4 = target == "builtin:dsv4";
    const int codes = dsv4 ? 448 : 512, tile = dsv4 ? 64 : 32;
    const int scales_at = dsv4 ? 576 : 512;
    CaseImage image = test::Image(
        test::ParseCase(std::string("pool { page_size: 256 pages: 1 layout: ") +
                        (dsv4 ? "DSV4_FOOTER_584" : "DSV4_1_FOOTER_528") +
                        " } steps { write { slots { count: 254 } pe_dim: " +
                        (dsv4 ? "64" : "0") + " } }"));
    Tensor& kv_c = *image.steps[0].Find(TensorId::kKvC);
    for (int token = 0; token < 254; ++token) {
      for (int beside = -1; beside <= 1; ++beside) {
        const std::uint16_t bits = Amax(token - 126, beside);
        std::memcpy(
            kv_c.bytes.data() + 2 * (token * codes + (beside + 1) * tile + 5),
            &bits, 2);
      }
    }
    const Observation seen = test::Run(target, image);
    const std::vector<std::uint8_t>& pool = PoolAfter(image, seen);
    for (int token = 0; token < 254; ++token) {
      const int exact = token - 126 - 8 + 127;
      for (int beside = -1; beside <= 1; ++beside) {
        // 1e-4 / 448 lies below 2^-22, whose byte is 105.
        EXPECT_EQ(pool[static_cast<std::size_t>(
                      image.pool.ByteAt(token, scales_at + beside + 1))],
                  std::max(105, exact + (beside > 0 ? 1 : 0)))
            << target << " token " << token << " beside " << beside;
      }
    }
  }
}

TEST(Ue8m0, AGatherReadsEveryCodeUnderEveryScaleByte) {
  CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 256 pages: 1 layout: DSV4_1_FOOTER_528 }
    steps {
      gather {
        dst_rows: 256
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 0 }
        }
      }
    })pb"));
  for (int byte = 0; byte < 256; ++byte) {
    for (int i = 0; i < 528; ++i) {
      image.pool.bytes[static_cast<std::size_t>(image.pool.ByteAt(byte, i))] =
          static_cast<std::uint8_t>(i < 512 ? i : byte);
    }
  }
  const Observation seen = test::Run("builtin:dsv4_1", image);
  ASSERT_EQ(seen.steps[0].status, CallStatus::kOk) << seen.steps[0].message;
  for (int byte = 0; byte < 256; ++byte) {
    for (int code = 0; code < 512; ++code) {
      std::uint16_t got;
      std::memcpy(&got,
                  seen.steps[0].outputs[0].data() + 2 * (512 * byte + code), 2);
      const double scale =
          byte == 255 ? std::nan("") : std::ldexp(1.0, byte - 127);
      const double value =
          test::E4m3Value(static_cast<unsigned>(code) & 0xff) * scale;
      ASSERT_EQ(got, test::NearestBf16(static_cast<float>(value)))
          << "byte " << byte << " code " << code;
    }
  }
}

// Two tokens of a page of three, one after another.
TEST(Pages, BytesStandWhereTheLayoutSays) {
  struct {
    const char* target;
    const char* layout;
    int codes, row, behind, page, rope;
  } const layouts[] = {
      {"builtin:nope-row", "NOPE_ROW_528", 512, 528, 512, 3 * 528, 0},
      {"builtin:dsv4", "DSV4_FOOTER_584", 448, 576, 3 * 576, 4 * 576, 64},
      {"builtin:dsv4_1", "DSV4_1_FOOTER_528", 512, 512, 3 * 512, 3 * 528, 0},
      {"builtin:indexer", "INDEXER_132", 128, 128, 3 * 128, 3 * 132, 0},
      {"builtin:indexer-256", "INDEXER_264", 256, 256, 3 * 256, 3 * 264, 0},
  };
  for (const auto& layout : layouts) {
    SCOPED_TRACE(layout.target);
    // 448: code 0x7e under a scale of 1.
    const CaseImage image = test::Image(test::ParseCase(
        std::string("pool { page_size: 3 pages: 2 fill { byte: 90 } layout: ") +
        layout.layout + " } steps { write { slots { values: [4] } pe_dim: " +
        std::to_string(layout.rope) +
        " kv_c { pattern: CONSTANT bits: 0x43e0 }"
        " k_pe { pattern: CONSTANT bits: 0x1234 } } }"));
    const Observation seen = test::Run(layout.target, image);
    const std::vector<std::uint8_t>& pool = PoolAfter(image, seen);
    const bool fp32 =
        layout.codes == 128 || layout.codes == 256 || layout.behind == 512;
    const int row = layout.page + layout.row;
    ASSERT_EQ(pool.size(), static_cast<std::size_t>(2 * layout.page));
    for (int i = 0; i < layout.codes; ++i) EXPECT_EQ(pool[row + i], 0x7e) << i;
    for (int i = 0; i < layout.rope; ++i) {
      EXPECT_EQ(pool[row + layout.codes + 2 * i], 0x34);
      EXPECT_EQ(pool[row + layout.codes + 2 * i + 1], 0x12);
    }
    if (fp32) {
      const int scale = layout.behind == 512
                            ? row + 512
                            : layout.page + layout.behind + layout.codes / 32;
      float value;
      std::memcpy(&value, pool.data() + scale, 4);
      EXPECT_EQ(value, 1.0f);
    } else {
      const int entry = layout.rope != 0 ? 8 : 16;
      const int scales = layout.page + layout.behind + entry;
      for (int i = 0; i < entry; ++i) {
        EXPECT_EQ(pool[scales + i], layout.rope != 0 && i == 7 ? 0 : 127) << i;
      }
    }
    int untouched = 0;
    for (const std::uint8_t byte : pool) untouched += byte == 90;
    const int token = layout.page == 4 * 576 ? 584 : layout.page / 3;
    // The padding of DeepSeek-V4's pages is poison.
    if (layout.page != 4 * 576) {
      EXPECT_EQ(untouched, 2 * layout.page - token);
    } else {
      EXPECT_GE(untouched, 5 * 584);
    }
  }
}

}  // namespace
}  // namespace mlafuzz
