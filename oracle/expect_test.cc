#include "oracle/expect.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "corpus/image.h"
#include "gtest/gtest.h"
#include "oracle/case_fixture.h"

namespace mlafuzz {
namespace {

// Rows by hand. What vLLM's kernels did is in recorded_vllm_test.
class ExpectTest : public CaseTest {
 protected:
  Expectation Run() { return Expect(contract_, image_, 0, image_.pool.bytes); }
  // Elements of `out`, row by row, without gaps.
  std::vector<std::int32_t> Indices(const Expectation& e) {
    std::vector<std::int32_t> values;
    for (std::size_t i = 0; i < e.outputs.size(); ++i) {
      const Tensor& t = image_.steps[0].tensors[i];
      if (t.id != TensorId::kOut) continue;
      for (std::int64_t row = 0; row < t.shape[0]; ++row) {
        for (std::int64_t column = 0; column < t.shape[1]; ++column) {
          std::int32_t value;
          std::memcpy(&value,
                      e.outputs[i].data() + 4 * (row * t.strides[0] + column),
                      4);
          values.push_back(value);
        }
      }
    }
    return values;
  }

  Contract contract_ = BuiltinContract();
};

TEST_F(ExpectTest, ARowOfOnes) {
  Use("pool { page_size: 2 pages: 2 fill { byte: 165 } } steps { write { slots "
      "{ values: 3 } kv_c { pattern: CONSTANT bits: 0x3f80 } } }");
  const Expectation e = Run();
  EXPECT_EQ(e.written, 656);
  EXPECT_EQ(e.outside_writes, 0);
  const std::uint8_t* row = e.pool.data() + image_.pool.RowAt(3);
  for (int i = 0; i < 512; ++i) EXPECT_EQ(row[i], 0x7e);
  // fp32(1 / 448) = 0x3b124925, little-endian.
  const std::uint8_t scale[] = {0x25, 0x49, 0x12, 0x3b};
  for (int tile = 0; tile < 4; ++tile) {
    EXPECT_EQ(std::memcmp(row + 512 + 4 * tile, scale, 4), 0);
  }
  for (int i = 528; i < 656; ++i) EXPECT_EQ(row[i], 0);
  EXPECT_TRUE(std::equal(e.pool.begin(), e.pool.begin() + 3 * 656,
                         image_.pool.bytes.begin()));
  contract_.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  const Expectation stale = Run();
  EXPECT_EQ(stale.written, 528);
  EXPECT_EQ(stale.pool[image_.pool.RowAt(3) + 528], 165);
}

TEST_F(ExpectTest, DuplicatesInOrder) {
  Use("pool { page_size: 2 pages: 1 } steps { write { slots { values: [1, 1] } "
      "kv_c { pattern: ZERO set { at: 0 bits: 0x3f80 } } } }");
  const std::int64_t at = image_.pool.RowAt(1);
  contract_.mutable_writer()->set_duplicates(WriterContract::LAST_WINS);
  EXPECT_EQ(Run().pool[at], 0x00);
  contract_.mutable_writer()->set_duplicates(WriterContract::FIRST_WINS);
  EXPECT_EQ(Run().pool[at], 0x7e);
  contract_.mutable_writer()->set_duplicates(WriterContract::DUPLICATES_RACE);
  ASSERT_EQ(Run().unsettled.size(), 1u);
  EXPECT_EQ(Run().unsettled[0].begin, at);
}

TEST_F(ExpectTest, NegativeSlotsAreAddresses) {
  const std::string write =
      " steps { write { slots { values: [-1, 0] } kv_c { pattern: CONSTANT "
      "bits: 0x3f80 } } }";
  Use("pool { page_size: 4 pages: 1 }" + write);
  contract_.mutable_writer()->set_slots(WriterContract::NONE_SKIPPED);
  EXPECT_EQ(Run().outside_writes, 1);
  EXPECT_EQ(Run().written, 656);
  // Bytes of another owner lie before page 0: the row lands there.
  Use("pool { page_size: 4 pages: 1 offset: 1312 }" + write);
  EXPECT_EQ(Run().outside_writes, 0);
  EXPECT_EQ(Run().pool[656], 0x7e);
  contract_.mutable_writer()->set_slots(WriterContract::MINUS_ONE_SKIPPED);
  EXPECT_EQ(Run().written, 656);
  // -2^63 times an even stride is a multiple of 2^64: slot 0.
  Use("pool { page_size: 1 pages: 1 } steps { write { slots { values: "
      "-9223372036854775808 } kv_c { pattern: CONSTANT bits: 0x3f80 } } }");
  EXPECT_EQ(Run().outside_writes, 0);
  EXPECT_EQ(Run().pool[0], 0x7e);
}

TEST_F(ExpectTest, GatherByHand) {
  Use("pool { page_size: 2 pages: 2 fill { byte: 0 } "
      "patches { slot: 2 at: 0 data: '\\x38\\xb8\\x01\\x7f' } "
      "patches { slot: 2 at: 512 data: '\\x00\\x00\\x40\\x3f' } "
      "patches { slot: 2 at: 528 data: '\\x34\\x12' } } "
      "steps { gather { block_table { rows: 1 columns: 1 pages { values: 1 } } "
      "workspace_starts: 1 dst_rows: 2 } }");
  const Expectation e = Run();
  const std::vector<std::uint8_t>& dst = e.outputs[0];
  const auto value = [&](int row, int column) {
    return dst[2 * (576 * row + column)] | dst[2 * (576 * row + column) + 1]
                                               << 8;
  };
  EXPECT_TRUE(e.pool.empty());
  EXPECT_EQ(e.written, 1152);
  EXPECT_EQ(value(1, 0), 0x3f40);  // 1 * 0.75
  EXPECT_EQ(value(1, 1), 0xbf40);
  EXPECT_EQ(value(1, 2), 0x3ac0);  // 2^-9 * 0.75
  EXPECT_EQ(value(1, 3), 0x7fff);
  EXPECT_EQ(value(1, 4), 0x0000);
  EXPECT_EQ(value(1, 512), 0x1234);
  EXPECT_TRUE(std::equal(dst.begin(), dst.begin() + 1152,
                         image_.steps[0].tensors[0].bytes.begin()));
  const std::vector<std::uint8_t> reads = PoolReadSet(contract_, image_, 0);
  for (std::int64_t i = 0; i < 4 * 656; ++i) {
    EXPECT_EQ(reads[i], i / 656 == 2 ? 1 : 0) << i;
  }
  GatherContract& g = *contract_.mutable_gather();
  const auto first = [&] {
    const Expectation other = Run();
    return other.outputs[0][1152] | other.outputs[0][1153] << 8;
  };
  g.set_scale(GatherContract::SCALE_POW2_FLOOR);
  EXPECT_EQ(first(), 0x3f00);
  g.set_scale(GatherContract::SCALE_POW2_CEIL);
  EXPECT_EQ(first(), 0x3f80);
  g.set_scale(GatherContract::SCALE_ONE);
  EXPECT_EQ(first(), 0x3f80);
}

TEST_F(ExpectTest, ReadSetOfRowsWithoutRope) {
  Use("pool { page_size: 1 pages: 1 } steps { gather { block_table { rows: 1 "
      "columns: 1 pages { values: 0 } } workspace_starts: 0 dst_rows: 1 nope: "
      "true } }");
  std::vector<std::uint8_t> reads = PoolReadSet(contract_, image_, 0);
  EXPECT_EQ(std::count(reads.begin(), reads.end(), 1), 528);
  EXPECT_EQ(reads[527], 1);
  EXPECT_EQ(reads[528], 0);
  contract_.mutable_gather()->set_nope_tail(GatherContract::NOPE_TAIL_VERBATIM);
  reads = PoolReadSet(contract_, image_, 0);
  EXPECT_EQ(std::count(reads.begin(), reads.end(), 1), 656);
  Use("pool { page_size: 1 pages: 1 } steps { write { slots { values: 0 } } }");
  reads = PoolReadSet(contract_, image_, 0);
  EXPECT_EQ(std::count(reads.begin(), reads.end(), 1), 0);
}

TEST_F(ExpectTest, ReadSetOfADecode) {
  const std::string text =
      "pool { page_size: 2 pages: 2 } steps { decode { queries: 2 heads: 1 "
      "indices { rows: 2 width: 3 set { at: 0 value: 1 } set { at: 1 value: -7 "
      "} set { at: 2 value: 3 } } lengths: [ 2, 3 ] ";
  // Slot 3 lies past the length; the second row has no key.
  Use(text + "pe_dim: 64 } }");
  std::vector<std::uint8_t> reads = PoolReadSet(contract_, image_, 0);
  for (std::int64_t i = 0; i < 4 * 656; ++i) {
    ASSERT_EQ(reads[i], i / 656 == 1 ? 1 : 0) << i;
  }
  Use(text + "} }");
  reads = PoolReadSet(contract_, image_, 0);
  EXPECT_EQ(std::count(reads.begin(), reads.end(), 1), 528);
  contract_.mutable_decode()->set_empty_row(DecodeContract::UNIT_WEIGHTS);
  reads = PoolReadSet(contract_, image_, 0);
  EXPECT_EQ(std::count(reads.begin(), reads.begin() + 656, 1), 528);
}

TEST_F(ExpectTest, ConvertByHand) {
  Use("pool { page_size: 4 pages: 9 } steps { convert { request_ids { values: "
      "[1, 0] } valid_count: true block_table { rows: 2 columns: 2 row_stride: "
      "3 pages { values: [5, 7, 2, 8] } } token_indices { rows: 2 width: 4 "
      "set { at: 0 value: 6 } set { at: 2 value: 1 } set { at: 3 value: 8 } "
      "set { at: 4 value: 3 } set { at: 5 value: 4 } set { at: 6 value: -9 } "
      "set { at: 7 value: 0 } } } }");
  using Values = std::vector<std::int32_t>;
  EXPECT_EQ(Indices(Run()), (Values{34, -1, 9, -1, 23, 28, -1, 20}));
  const Expectation e = Run();
  EXPECT_EQ(e.written, 4 * 8 + 4 * 2);
  const std::vector<std::uint8_t>& counts = e.outputs.back();
  EXPECT_EQ(counts[0], 2);
  EXPECT_EQ(counts[4], 3);
  ConvertContract& c = *contract_.mutable_convert();
  c.set_order(ConvertContract::COMPACTED);
  EXPECT_EQ(Indices(Run()), (Values{34, 9, -1, -1, 23, 28, 20, -1}));
  c.set_invalid(ConvertContract::INVALID_ZERO);
  EXPECT_EQ(Indices(Run()), (Values{34, 9, 0, 0, 23, 28, 20, 0}));
  c.set_order(ConvertContract::IN_PLACE);
  c.set_negative(ConvertContract::MINUS_ONE_ONLY);
  c.set_valid_count(ConvertContract::COUNT_NON_NEGATIVE);
  EXPECT_EQ(Run().outputs.back()[0], 3);
  // -9 / 4 = -2: the entry before the row's two, outside the table's first row.
  EXPECT_EQ(Run().unsettled.size(), 1u);
}

}  // namespace
}  // namespace mlafuzz
