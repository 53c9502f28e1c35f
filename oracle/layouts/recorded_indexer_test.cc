// The oracle against what vLLM's kernels did on an H200 with the indexer's K
// cache and DeepSeek-V4's footer layout: every byte of 37 recorded cases. See
// testdata/README.md.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "corpus/contract.pb.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "oracle/layouts/indexer_gather.h"
#include "oracle/layouts/interleaved_rope.h"
#include "oracle/layouts/page_layout.h"
#include "oracle/layouts/page_write.h"
#include "oracle/layouts/vllm_conventions.h"

namespace mlafuzz::oracle {
namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

constexpr char kFolder[] = "oracle/layouts/testdata/";

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string& Data() {
  static const std::string* const kData = new std::string(
      ReadAll(std::string(kFolder) + "vllm_indexer_public.bin"));
  return *kData;
}

std::vector<Json> Cases(const char* op) {
  static const Json* const kManifest = new Json(
      Json::parse(ReadAll(std::string(kFolder) + "vllm_indexer_public.json")));
  std::vector<Json> cases;
  for (const Json& c : kManifest->at("cases")) {
    if (c.at("op") == op) cases.push_back(c);
  }
  return cases;
}

template <typename T>
std::vector<T> Array(const Json& c, const char* name) {
  const Json& array = c.at("arrays").at(name);
  const std::size_t at = array.at("offset");
  const std::size_t size = array.at("bytes");
  EXPECT_LE(at + size, Data().size());
  std::vector<T> values(size / sizeof(T));
  std::memcpy(values.data(), Data().data() + at, size);
  return values;
}

const PageLayout& IndexerOf(const Json& c) {
  return c.at("head_dim") == 128 ? kIndexer132 : kIndexer264;
}

// The number of bytes in which `got` differs; the first is told.
std::string Difference(const Bytes& want, const Bytes& got) {
  if (want.size() != got.size()) return "sizes differ";
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = want.size(); i-- > 0;) {
    if (want[i] == got[i]) continue;
    ++wrong;
    first = i;
  }
  return wrong == 0 ? ""
                    : std::to_string(wrong) + " bytes, the first " +
                          std::to_string(first);
}

// ---- writer of the indexer's cache

Bytes WriteIndexer(const Json& c, const WriterContract& contract) {
  const std::vector<std::uint16_t> k = Array<std::uint16_t>(c, "k");
  const std::vector<std::int64_t> slots =
      Array<std::int64_t>(c, "slot_mapping");
  Bytes pool = Array<std::uint8_t>(c, "cache_before");
  EXPECT_TRUE(WritePages(
      contract,
      {.layout = &IndexerOf(c),
       .page_size = c.at("block_size"),
       .page_stride = c.at("block_stride_bytes"),
       .input = c.at("input_dtype") == "fp16" ? DType::F16 : DType::BF16,
       .latent = k,
       .stride = c.at("head_dim"),
       .rope = {},
       .rope_stride = 0,
       .tokens = c.at("tokens"),
       .slots = slots},
      absl::MakeSpan(pool)));
  return pool;
}

TEST(RecordedIndexer, EveryWrittenByteIsPredicted) {
  int cases = 0;
  for (const Json& c : Cases("indexer_write")) {
    if (c.contains("expected_bug")) continue;
    EXPECT_EQ(Difference(Array<std::uint8_t>(c, "cache_after"),
                         WriteIndexer(
                             c, VllmConventions(c.at("scale_fmt") == "ue8m0"))),
              "")
        << c.at("id");
    ++cases;
  }
  EXPECT_EQ(cases, 17);
}

// fp16: vLLM looks for the largest bit pattern, as an integer.
TEST(RecordedIndexer, TheFp16WriterIsTheOneOfRawBits) {
  int cases = 0;
  for (const Json& c : Cases("indexer_write")) {
    if (!c.contains("expected_bug")) continue;
    const Bytes after = Array<std::uint8_t>(c, "cache_after");
    WriterContract contract = VllmConventions(false);
    EXPECT_NE(Difference(after, WriteIndexer(c, contract)), "");
    contract.set_fp16_amax(WriterContract::FP16_RAW_BITS);
    EXPECT_EQ(Difference(after, WriteIndexer(c, contract)), "");
    ++cases;
  }
  EXPECT_EQ(cases, 1);
}

// The rules are told apart by what was recorded: under another, some case is
// wrong.
TEST(RecordedIndexer, AnotherRuleIsBelied) {
  const auto belied = [](auto change) {
    int wrong = 0;
    for (const Json& c : Cases("indexer_write")) {
      if (c.contains("expected_bug")) continue;
      WriterContract contract = VllmConventions(c.at("scale_fmt") == "ue8m0");
      change(contract);
      wrong += !Difference(Array<std::uint8_t>(c, "cache_after"),
                           WriteIndexer(c, contract))
                    .empty();
    }
    return wrong;
  };
  EXPECT_EQ(belied([](WriterContract&) {}), 0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_floor(WriterContract::FLOOR_ON_SCALE);
            }),
            0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_scale_division(WriterContract::TIMES_RECIPROCAL);
            }),
            0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_code_division(WriterContract::CODE_RECIPROCAL);
            }),
            0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_nan(WriterContract::NAN_TO_MINUS_448);
            }),
            0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_inf(WriterContract::INF_SATURATES);
            }),
            0);
  EXPECT_GT(belied([](WriterContract& w) { w.set_scale(WriterContract::RAW); }),
            0);
  EXPECT_GT(belied([](WriterContract& w) {
              w.set_negative_zero(WriterContract::NEGATIVE_ZERO_POSITIVE);
            }),
            0);
}

// ---- its gather

struct Gathered {
  Bytes codes;
  Bytes scales;
};

Gathered Gather(const Json& c, IndexerGatherFaults faults) {
  const Bytes cache = Array<std::uint8_t>(c, "cache");
  const std::vector<std::int32_t> table = Array<std::int32_t>(c, "block_table");
  const std::vector<std::int32_t> starts =
      Array<std::int32_t>(c, "cu_seq_lens");
  Gathered out = {Array<std::uint8_t>(c, "dst_k_before"),
                  Array<std::uint8_t>(c, "dst_scale_before")};
  EXPECT_TRUE(GatherIndexer({.layout = &IndexerOf(c),
                             .page_size = c.at("block_size"),
                             .page_stride = c.at("block_stride_bytes"),
                             .cache = cache,
                             .table = table,
                             .table_width = c.at("block_table_width"),
                             .starts = starts,
                             .rows = c.at("rows"),
                             .dst_stride = c.at("dst_k_row_stride_bytes")},
                            faults, absl::MakeSpan(out.codes),
                            absl::MakeSpan(out.scales)))
      << c.at("id");
  return out;
}

std::string Difference(const Json& c, const Gathered& got) {
  return Difference(Array<std::uint8_t>(c, "dst_k_after"), got.codes) +
         Difference(Array<std::uint8_t>(c, "dst_scale_after"), got.scales);
}

TEST(RecordedIndexer, EveryGatheredByteIsPredicted) {
  int cases = 0;
  for (const Json& c : Cases("indexer_gather")) {
    if (c.contains("expected_bug")) continue;
    EXPECT_EQ(Difference(c, Gather(c, {})), "") << c.at("id");
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

TEST(RecordedIndexer, WrongGathersAreWrongInTheWayThatIsNamed) {
  int boundary = 0, stride = 0;
  for (const Json& c : Cases("indexer_gather")) {
    if (!c.contains("expected_bug")) continue;
    EXPECT_NE(Difference(c, Gather(c, {})), "") << c.at("id");
    const bool by_boundary =
        Difference(c, Gather(c, {.codes_from_boundary = true})).empty();
    const bool by_stride =
        Difference(c, Gather(c, {.scales_by_code_stride = true})).empty();
    EXPECT_NE(by_boundary, by_stride) << c.at("id");
    boundary += by_boundary;
    stride += by_stride;
    if (!by_boundary) continue;
    // As many rows are wrong as were counted when it was recorded.
    const Bytes after = Array<std::uint8_t>(c, "dst_k_after");
    const Bytes right = Gather(c, {}).codes;
    int rows = 0;
    for (std::size_t at = 0; at < after.size(); at += 128) {
      rows += !std::equal(after.begin() + at, after.begin() + at + 128,
                          right.begin() + at);
    }
    EXPECT_EQ(rows, c.at("rows_with_wrong_codes")) << c.at("id");
  }
  EXPECT_EQ(boundary, 2);
  EXPECT_EQ(stride, 1);
}

// ---- DeepSeek-V4's insert

Bytes Insert(const Json& c, const WriterContract& contract) {
  const std::vector<std::uint16_t> kv = Array<std::uint16_t>(c, "kv");
  const std::vector<float> cos_sin = Array<float>(c, "cos_sin");
  const std::vector<std::int64_t> positions =
      Array<std::int64_t>(c, "positions");
  const std::vector<std::int64_t> slots =
      Array<std::int64_t>(c, "slot_mapping");
  const std::size_t tokens = c.at("tokens");
  std::vector<std::uint16_t> rope(tokens * 64);
  for (std::size_t t = 0; t < tokens; ++t) {
    RotateInterleaved(absl::MakeConstSpan(kv).subspan(t * 512 + 448, 64),
                      absl::MakeConstSpan(cos_sin).subspan(
                          static_cast<std::size_t>(positions[t]) * 64, 64),
                      absl::MakeSpan(rope).subspan(t * 64, 64));
  }
  Bytes pool = Array<std::uint8_t>(c, "cache_before");
  EXPECT_TRUE(WritePages(contract,
                         {.layout = &kFooter584,
                          .page_size = c.at("block_size"),
                          .page_stride = c.at("block_stride_bytes"),
                          .input = DType::BF16,
                          .latent = kv,
                          .stride = 512,
                          .rope = rope,
                          .rope_stride = 64,
                          .tokens = c.at("tokens"),
                          .slots = slots},
                         absl::MakeSpan(pool)));
  return pool;
}

// NaN passes through the clamp to -448.
WriterContract InsertConventions() {
  WriterContract w = VllmConventions(true);
  w.set_nan(WriterContract::NAN_TO_MINUS_448);
  return w;
}

TEST(RecordedInsert, EveryByteIsPredicted) {
  int cases = 0;
  for (const Json& c : Cases("dsv4_insert")) {
    EXPECT_EQ(Difference(Array<std::uint8_t>(c, "cache_after"),
                         Insert(c, InsertConventions())),
              "")
        << c.at("id");
    ++cases;
  }
  EXPECT_EQ(cases, 6);
}

// The reference packers floor the scale instead, and keep NaN.
TEST(RecordedInsert, ThePackersConventionsAreBelied) {
  const auto belied = [](const WriterContract& contract) {
    int wrong = 0;
    for (const Json& c : Cases("dsv4_insert")) {
      wrong += !Difference(Array<std::uint8_t>(c, "cache_after"),
                           Insert(c, contract))
                    .empty();
    }
    return wrong;
  };
  WriterContract floor = InsertConventions();
  floor.set_floor(WriterContract::FLOOR_ON_SCALE);
  EXPECT_GT(belied(floor), 0);
  EXPECT_GT(belied(VllmConventions(true)), 0);
}

}  // namespace
}  // namespace mlafuzz::oracle
