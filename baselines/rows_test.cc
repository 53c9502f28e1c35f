// Packer and unpacker against what vLLM's kernels made of the same inputs on an
// H200 (oracle/testdata), and against the definitions in double precision.
#include "baselines/rows.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "baselines/formats.h"
#include "gtest/gtest.h"
#include "kernels/test_support.h"
#include "nlohmann/json.hpp"

namespace mlafuzz::baselines {
namespace {

using Json = nlohmann::json;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

class Recorded : public testing::Test {
 protected:
  const Json& Named(const std::string& id) {
    for (const Json& c : manifest_.at("cases")) {
      if (c.at("id") == id) return c;
    }
    ADD_FAILURE() << id;
    return manifest_;
  }

  template <class T>
  std::vector<T> Array(const Json& c, const char* name) {
    const Json& array = c.at("arrays").at(name);
    const std::size_t at = array.at("offset");
    const std::size_t size = array.at("bytes");
    std::vector<T> elements(size / sizeof(T));
    std::memcpy(elements.data(), data_.data() + at, size);
    return elements;
  }

  const Json manifest_ =
      Json::parse(ReadAll("oracle/testdata/vllm_public.json"));
  const std::string data_ = ReadAll("oracle/testdata/vllm_public.bin");
};

TEST_F(Recorded, PackRowIsWhatTheWriterStored) {
  int rows = 0;
  for (const char* id : {"w01_octaves_pages", "w02_octaves_one_page",
                         "w05_ties", "w10_pad_bs7", "w14_one_token"}) {
    const Json& c = Named(id);
    const auto kv_c = Array<std::uint16_t>(c, "kv_c");
    const auto k_pe = Array<std::uint16_t>(c, "k_pe");
    const auto slots = Array<std::int64_t>(c, "slot_mapping");
    const auto after = Array<std::uint8_t>(c, "cache_after");
    const std::size_t kv_c_stride = c.at("kv_c_row_stride_elems");
    const std::size_t k_pe_stride = c.at("k_pe_row_stride_elems");
    const std::int64_t page_size = c.at("block_size");
    const std::int64_t page_stride = c.at("block_stride_bytes");
    const std::int64_t row_stride = c.at("entry_stride_bytes");
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] < 0) continue;
      std::uint16_t values[kColumns];
      std::memcpy(values, &kv_c[i * kv_c_stride], 2 * kLatent);
      std::memcpy(values + kLatent, &k_pe[i * k_pe_stride], 2 * kRope);
      std::uint8_t row[kRowBytes];
      PackRow(values, TileScale::kRaw, 0, row);
      const std::int64_t at = slots[i] / page_size * page_stride +
                              slots[i] % page_size * row_stride;
      EXPECT_EQ(
          std::memcmp(row, &after[static_cast<std::size_t>(at)], kRowBytes), 0)
          << id << ", token " << i;
      ++rows;
    }
  }
  EXPECT_GT(rows, 100);
}

TEST_F(Recorded, UnpackRowIsWhatTheGatherMade) {
  for (const char* id : {"g02_one_request_bs64", "g03_permuted_pages"}) {
    const Json& c = Named(id);
    const auto cache = Array<std::uint8_t>(c, "cache");
    const auto table = Array<std::int32_t>(c, "block_table");
    const auto starts = Array<std::int32_t>(c, "workspace_starts");
    const auto dst = Array<std::uint16_t>(c, "dst_after");
    std::vector<std::int32_t> firsts(starts.size(), 0);
    if (!c.at("arrays").at("seq_starts").is_null()) {
      firsts = Array<std::int32_t>(c, "seq_starts");
    }
    const std::int64_t page_size = c.at("block_size");
    const std::int64_t page_stride = c.at("block_stride_bytes");
    const std::int64_t row_stride = c.at("entry_stride_bytes");
    const std::size_t width = c.at("block_table_width");
    const std::int64_t all = c.at("rows");
    for (std::size_t r = 0; r < starts.size(); ++r) {
      const std::int64_t end = r + 1 < starts.size() ? starts[r + 1] : all;
      for (std::int64_t out = starts[r]; out < end; ++out) {
        const std::int64_t token = out - starts[r] + firsts[r];
        const std::int64_t at =
            table[r * width + static_cast<std::size_t>(token / page_size)] *
                page_stride +
            token % page_size * row_stride;
        float values[kColumns];
        UnpackRow(&cache[static_cast<std::size_t>(at)], Through::kBf16, values);
        for (int i = 0; i < kColumns; ++i) {
          const float recorded =
              FromBf16(dst[static_cast<std::size_t>(out * kColumns + i)]);
          ASSERT_TRUE(test::SameValue(values[i], recorded))
              << id << ", row " << out << ", column " << i;
        }
      }
    }
  }
}

TEST(Rows, PackRowHasBothScaleRules) {
  test::Bytes bytes(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::uint16_t values[kColumns];
    for (std::uint16_t& value : values) {
      // Finite, magnitudes from 2^-20 to 2^11.
      value = static_cast<std::uint16_t>((bytes.Next() & 0x8fff) | 0x3500);
    }
    for (const bool pow2 : {false, true}) {
      std::uint8_t row[kRowBytes];
      PackRow(values, pow2 ? TileScale::kPow2 : TileScale::kRaw, 0, row);
      EXPECT_EQ(
          std::memcmp(row, test::QuantisedRow(values, false, pow2).data(), 528),
          0);
      EXPECT_EQ(std::memcmp(row + 528, values + kLatent, 2 * kRope), 0);
    }
  }
}

TEST(Rows, ScaleOfSmallAndSpecialTiles) {
  // The published numbers of the power-of-two rule.
  EXPECT_EQ(ScaleOf(0, TileScale::kPow2), 0x1p-13f);
  EXPECT_EQ(ScaleOf(336, TileScale::kPow2), 1.0f);
  EXPECT_EQ(ScaleOf(448, TileScale::kPow2), 1.0f);
  EXPECT_EQ(ScaleOf(449, TileScale::kPow2), 2.0f);
  EXPECT_EQ(ScaleOf(336, TileScale::kRaw), 0.75f);
  EXPECT_NE(ScaleOf(std::bit_cast<float>(0x7fc00000), TileScale::kPow2),
            ScaleOf(std::bit_cast<float>(0x7fc00000), TileScale::kPow2));
}

TEST(Rows, LeastAmaxBoundsTheScaleFromBelow) {
  std::uint16_t values[kColumns] = {};
  std::uint8_t row[kRowBytes];
  PackRow(values, TileScale::kRaw, 1e-4f, row);
  float scale;
  std::memcpy(&scale, row + kLatent, 4);
  EXPECT_EQ(scale, 1e-4f / 448);
}

TEST(Rows, ANanMakesItsTileNan) {
  std::uint16_t values[kColumns] = {};
  values[kTile + 3] = 0x7fc0;
  values[kTile + 4] = 0x3f80;
  std::uint8_t row[kRowBytes];
  PackRow(values, TileScale::kPow2, 0, row);
  float unpacked[kColumns];
  UnpackRow(row, Through::kBf16, unpacked);
  for (int i = 0; i < kLatent; ++i) {
    EXPECT_EQ(unpacked[i] != unpacked[i], i / kTile == 1) << i;
  }
}

TEST(Rows, ThroughFp16RoundsTwice) {
  // 2^-24 steps: 1.5 of them become 2, and a product below half of one 0.
  std::uint8_t row[kRowBytes] = {};
  const float scale = 0x1.8p-24f;
  std::memcpy(row + kLatent, &scale, 4);
  row[0] = 0x38;  // 1
  float values[kColumns];
  UnpackRow(row, Through::kBf16, values);
  EXPECT_EQ(values[0], 0x1.8p-24f);
  UnpackRow(row, Through::kFp16, values);
  EXPECT_EQ(values[0], 0x1p-23f);
}

}  // namespace
}  // namespace mlafuzz::baselines
