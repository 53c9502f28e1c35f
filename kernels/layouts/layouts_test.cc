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

// What byte 0 and byte 255 are to a gather.
struct Reading {
  const char* target;
  double zero;
  double last;
};

// All 256 scale bytes, each over all 256 codes.
void ExpectReading(const Reading& reading, const std::string& layout, int codes,
                   int rope_bytes, int scales) {
  CaseImage image = test::Image(test::ParseCase(
      "pool { page_size: 256 pages: 1 layout: " + layout +
      " } steps { gather { dst_rows: 256 workspace_starts: 0 block_table {"
      " rows: 1 columns: 1 pages { values: 0 } } } }"));
  const int scales_at = codes + rope_bytes;
  for (int byte = 0; byte < 256; ++byte) {
    for (int i = 0; i < scales_at + scales; ++i) {
      image.pool.bytes[static_cast<std::size_t>(image.pool.ByteAt(byte, i))] =
          static_cast<std::uint8_t>(i < codes       ? i
                                    : i < scales_at ? 0
                                                    : byte);
    }
  }
  const Observation seen = test::Run(reading.target, image);
  ASSERT_EQ(seen.steps[0].status, CallStatus::kOk) << seen.steps[0].message;
  for (int byte = 0; byte < 256; ++byte) {
    const double scale = byte == 0     ? reading.zero
                         : byte == 255 ? reading.last
                                       : std::ldexp(1.0, byte - 127);
    for (int code = 0; code < codes; ++code) {
      std::uint16_t got;
      std::memcpy(&got,
                  seen.steps[0].outputs[0].data() + 2 * (512 * byte + code), 2);
      const double value =
          test::E4m3Value(static_cast<unsigned>(code) & 0xff) * scale;
      ASSERT_EQ(got, test::NearestBf16(static_cast<float>(value)))
          << reading.target << " byte " << byte << " code " << code;
    }
  }
}

TEST(Ue8m0, AGatherReadsEveryCodeUnderEveryScaleByte) {
  const double zero = std::ldexp(1.0, -127), nan = std::nan("");
  ExpectReading({"builtin:dsv4_1", zero, nan}, "DSV4_1_FOOTER_528", 512, 0, 16);
  ExpectReading({"builtin:dsv4", zero, nan}, "DSV4_FOOTER_584", 448, 128, 7);
  // The other conventions, of kernels that are wrong by this project's.
  ExpectReading({"mutant:dsv4-zero-is-zero", 0.0, nan}, "DSV4_FOOTER_584", 448,
                128, 7);
  ExpectReading({"mutant:dsv4-last-is-inf", zero, HUGE_VAL}, "DSV4_FOOTER_584",
                448, 128, 7);
}

// Every bf16 magnitude as a tile's largest: the byte is that of the least power
// of two which is not below max(amax, 1e-4) / 448, or max(amax / 448, 1e-4).
TEST(Ue8m0, AWriterMakesOneByteOfEveryMagnitude) {
  struct {
    const char* target;
    bool dsv4, floor_on_scale, poisons;
  } const writers[] = {{"builtin:dsv4", true, false, false},
                       {"builtin:dsv4-packer", true, true, false},
                       {"builtin:dsv4_1", false, false, true}};
  constexpr int kMagnitudes = 0x8000;
  for (const auto& writer : writers) {
    SCOPED_TRACE(writer.target);
    const int codes = writer.dsv4 ? 448 : 512, tile = writer.dsv4 ? 64 : 32;
    const int tiles = codes / tile, scales_at = writer.dsv4 ? 576 : 512;
    const int tokens = (kMagnitudes + tiles - 1) / tiles;
    CaseImage image = test::Image(test::ParseCase(
        std::string("pool { page_size: 256 pages: ") +
        std::to_string((tokens + 255) / 256) +
        " layout: " + (writer.dsv4 ? "DSV4_FOOTER_584" : "DSV4_1_FOOTER_528") +
        " } steps { write { slots { count: " + std::to_string(tokens) +
        " } pe_dim: " + (writer.dsv4 ? "64" : "0") + " } }"));
    Tensor& kv_c = *image.steps[0].Find(TensorId::kKvC);
    for (int bits = 0; bits < kMagnitudes; ++bits) {
      // Of either sign, anywhere in its tile.
      const auto value =
          static_cast<std::uint16_t>(bits | (bits % 3 == 0 ? 0x8000 : 0));
      const std::size_t at = static_cast<std::size_t>(
          bits / tiles * codes + bits % tiles * tile + bits % tile);
      std::memcpy(kv_c.bytes.data() + 2 * at, &value, 2);
    }
    const Observation seen = test::Run(writer.target, image);
    const std::vector<std::uint8_t>& pool = PoolAfter(image, seen);
    for (int bits = 0; bits < kMagnitudes; ++bits) {
      const double amax = test::Bf16Value(static_cast<unsigned>(bits));
      int byte;
      if (std::isnan(amax)) {
        byte = writer.poisons ? 255 : writer.floor_on_scale ? 114 : 105;
      } else if (std::isinf(amax)) {
        byte = 255;
      } else {
        const double scale = writer.floor_on_scale ? std::max(amax / 448, 1e-4)
                                                   : std::max(amax, 1e-4) / 448;
        int exponent;
        const double fraction = std::frexp(scale, &exponent);
        byte = (fraction == 0.5 ? exponent - 1 : exponent) + 127;
      }
      ASSERT_EQ(pool[static_cast<std::size_t>(
                    image.pool.ByteAt(bits / tiles, scales_at + bits % tiles))],
                byte)
          << "magnitude 0x" << std::hex << bits;
    }
  }
}

// FlashInfer's 528-byte kernels over rows of 656 bytes, by the row stride: they
// read what a writer of those leaves, and leave what a reader of those reads.
TEST(Pages, RowsOf528WithinRowsOf656) {
  const std::string write =
      " steps { write { slots { values: [3, 0, 5, 1, 4, 2] } pe_dim: 0"
      " kv_c { pattern: NORMAL_RANGE seed: 7 } } }";
  const std::string gather =
      "dst_rows: 6 workspace_starts: 0 block_table { rows: 1 columns: 2"
      " pages { values: [1, 0] } }";
  const std::string pool = "page_size: 3 pages: 2 fill { byte: 90 }";
  const CaseImage wide =
      test::Image(test::ParseCase("pool { " + pool + " }" + write));
  const CaseImage narrow = test::Image(test::ParseCase(
      "pool { " + pool + " layout: NOPE_ROW_528 row_stride: 656 }" + write));
  const Observation wide_seen = test::Run("builtin", wide);
  const Observation narrow_seen = test::Run("builtin:nope-row", narrow);
  const std::vector<std::uint8_t>& rows = PoolAfter(wide, wide_seen);
  const std::vector<std::uint8_t>& short_rows = PoolAfter(narrow, narrow_seen);
  ASSERT_EQ(rows.size(), short_rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 656 < 512) {
      ASSERT_EQ(rows[i], short_rows[i]) << i;
    } else if (i % 656 >= 528) {
      // One zeroes the tail, to the other it is nobody's.
      ASSERT_EQ(rows[i], 0) << i;
      ASSERT_EQ(short_rows[i], narrow.pool.bytes[i]) << i;
    }
  }
  // Scales: amax over 448 in both, floors apart.
  const auto gathered = [&](const std::string& target,
                            const std::string& layout,
                            const std::string& nope) {
    CaseImage image = test::Image(test::ParseCase("pool { " + pool + layout +
                                                  " } steps { gather { " +
                                                  gather + nope + " } }"));
    image.pool.bytes = rows;
    return test::Run(target, image).steps[0];
  };
  const StepObservation of656 = gathered("builtin", "", " nope: true");
  const StepObservation of528 =
      gathered("builtin:nope-row", " layout: NOPE_ROW_528 row_stride: 656", "");
  ASSERT_EQ(of656.status, CallStatus::kOk) << of656.message;
  ASSERT_EQ(of528.status, CallStatus::kOk) << of528.message;
  for (std::size_t row = 0; row < 6; ++row) {
    ASSERT_EQ(std::memcmp(&of656.outputs[0][1152 * row],
                          &of528.outputs[0][1024 * row], 1024),
              0)
        << row;
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
