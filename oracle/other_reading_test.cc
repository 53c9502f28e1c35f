#include "oracle/other_reading.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "gtest/gtest.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {
namespace {

// A right result of one case, to be damaged by hand. Kernels that read a call
// otherwise are in properties/ledger.
class Result {
 public:
  explicit Result(const std::string& text)
      : case_(*ParseCaseText(text)), image_(*BuildImage(case_)) {
    expected_ = Expect(BuiltinContract(), image_, 0, image_.pool.bytes);
    pool = expected_.pool.empty() ? image_.pool.bytes : expected_.pool;
    outputs = expected_.outputs;
  }

  std::vector<std::string> Keys() const {
    AfterImage after;
    after.pool = pool;
    for (const auto& output : outputs) after.outputs.push_back(output);
    std::vector<std::string> keys;
    for (const OtherReading& reading :
         OtherReadings({BuiltinContract(), image_, 0, image_.pool.bytes,
                        expected_, after})) {
      keys.push_back(reading.key);
      words = reading.words;
    }
    return keys;
  }

  const PoolImage& before() const { return image_.pool; }
  std::uint8_t* Row(std::int64_t slot) {
    return pool.data() + image_.pool.RowAt(slot);
  }

  std::vector<std::uint8_t> pool;
  std::vector<std::vector<std::uint8_t>> outputs;
  mutable std::string words;

 private:
  Case case_;
  CaseImage image_;
  Expectation expected_;
};

using Keys = std::vector<std::string>;

constexpr char kWrite[] = R"pb(
  pool {
    page_size: 2
    pages: 2
    fill { byte: 0xa5 }
  }
  steps {
    write {
      slots { values: [ 3, 0 ] }
      pe_dim: 64
      kv_c { pattern: OCTAVES seed: 5 }
      k_pe { pattern: RANDOM_BITS seed: 6 }
    }
  })pb";

TEST(OtherReading, RowsTakenForRequests) {
  Result result(R"pb(
    pool { page_size: 2 pages: 4 }
    steps {
      convert {
        request_ids { values: [ 1, 1 ] }
        block_table {
          rows: 2
          columns: 1
          pages { values: [ 3, 2 ] }
        }
        token_indices { rows: 2 width: 2 valid: 2 limit: 2 }
      }
    })pb");
  // Both rows are request 1's, whose only page is 2; row 0 finds page 3.
  ASSERT_EQ(result.Keys(), Keys{});
  std::int32_t slots[2];
  for (std::vector<std::uint8_t>& out : result.outputs) {
    if (out.size() < sizeof slots) continue;
    std::memcpy(slots, out.data(), sizeof slots);
    for (std::int32_t& slot : slots) slot += 2;
    std::memcpy(out.data(), slots, sizeof slots);
  }
  EXPECT_EQ(result.Keys(), Keys{"row-for-request"});
}

// ---- rules that are kept under a condition

Contract Workspace() {
  Contract contract = BuiltinContract();
  contract.mutable_convert()->set_workspace(
      ConvertContract::WORKSPACE_WITHIN_TABLE);
  contract.mutable_convert()->set_pages(ConvertContract::PAGES_FITTING);
  return contract;
}

// What a contract leaves behind of a case's only call.
struct Left {
  explicit Left(const std::string& text)
      : c(*ParseCaseText(text)), image(*BuildImage(c)) {}

  AfterImage Of(const Contract& contract) {
    expected = Expect(contract, image, 0, image.pool.bytes);
    AfterImage after;
    after.pool = image.pool.bytes;
    for (const auto& output : expected.outputs) after.outputs.push_back(output);
    return after;
  }
  Keys Narrowed(const AfterImage& after) const {
    const Expectation declared =
        Expect(Workspace(), image, 0, image.pool.bytes);
    Keys keys;
    for (const OtherReading& reading : NarrowedRules(
             {Workspace(), image, 0, image.pool.bytes, declared, after})) {
      keys.push_back(reading.key);
    }
    return keys;
  }
  bool RuledOut(const AfterImage& after, const std::string& key) const {
    return RulesOutNarrowedRule(Workspace(), image, 0, image.pool.bytes, after,
                                key);
  }

  Case c;
  CaseImage image;
  Expectation expected;
};

// Rows of prefill request `id` and, where `more`, of request 1.
std::string Prefill(int id, bool more) {
  return absl::StrCat(
      "pool { page_size: 2 pages: 4 } steps { convert { request_ids { values: "
      "[0, 0] } block_table { rows: 1 columns: 1 pages { values: [3] } } "
      "token_indices { rows: 2 width: 2 valid: 2 limit: 2 } "
      "prefill_workspace_starts: [10, 20] prefill_request_ids: [",
      id, more ? ", 1" : "", "] valid_count: true } }");
}

TEST(NarrowedRule, OneRequestGoesByTheTable) {
  constexpr char kKey[] = "first-prefill-by-table";
  EXPECT_TRUE(IsNarrowedRule(kKey));
  EXPECT_TRUE(IsOtherReading(kKey));
  EXPECT_FALSE(IsNarrowedRule("row-for-request"));
  Contract by_table = Workspace();
  by_table.mutable_convert()->set_workspace(
      ConvertContract::WORKSPACE_BY_TABLE);
  // Of request 0 alone both predict the same.
  Left zero(Prefill(0, false));
  const AfterImage seen = zero.Of(by_table);
  EXPECT_EQ(zero.Narrowed(seen), Keys{kKey});
  EXPECT_FALSE(zero.RuledOut(seen, kKey));
  // A right call with that request speaks against it, one without does not.
  EXPECT_TRUE(zero.RuledOut(zero.Of(Workspace()), kKey));
  Left one(Prefill(1, false));
  EXPECT_FALSE(one.RuledOut(one.Of(Workspace()), kKey));
  // Where request 1 goes by the table too, it is the rule and not this.
  Left both(Prefill(0, true));
  EXPECT_EQ(both.Narrowed(both.Of(by_table)), Keys{});
}

std::string Pages(const std::string& pages) {
  return absl::StrCat(
      "pool { page_size: 3 pages: 4 } steps { convert { request_ids { values: "
      "[0] } block_table { rows: 1 columns: 2 pages { values: [",
      pages,
      "] } } token_indices { rows: 1 width: 2 set { at: 0 value: 1 } set { at: "
      "1 value: 4 } } valid_count: true } }");
}

TEST(NarrowedRule, WhatIsNegativeAfterTheProductIsNoSlot) {
  constexpr char kKey[] = "slot-wraps-then-checked";
  Contract wrapped = Workspace();
  wrapped.mutable_convert()->set_pages(ConvertContract::PAGES_WRAPPED);
  // 2^31 - 1 times 3 is positive in int32, 2^30 times 3 negative.
  Left positive(Pages("2147483647, 1"));
  EXPECT_EQ(positive.Narrowed(positive.Of(wrapped)), Keys{kKey});
  EXPECT_TRUE(positive.RuledOut(positive.Of(Workspace()), kKey));
  Left negative(Pages("1073741824, 1"));
  EXPECT_EQ(negative.Narrowed(negative.Of(wrapped)), Keys{});
  // That it gets right.
  EXPECT_FALSE(negative.RuledOut(negative.Of(Workspace()), kKey));
  // Both: a slot that is none, and none that is no slot.
  Left both(Pages("2147483647, 1073741824"));
  EXPECT_EQ(both.Narrowed(both.Of(wrapped)), Keys{});
  AfterImage seen = both.Of(wrapped);
  std::vector<std::vector<std::uint8_t>> outputs = both.expected.outputs;
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    if (outputs[t].empty()) continue;
    if (both.image.steps[0].tensors[t].id == TensorId::kOut) {
      std::fill_n(outputs[t].data() + 4, 4, std::uint8_t{0xff});
    } else {
      outputs[t][0] = 1;  // of two that count
    }
    seen.outputs[t] = outputs[t];
  }
  EXPECT_EQ(both.Narrowed(seen), Keys{kKey});
}

TEST(OtherReading, NothingIsReadIntoDamageOfNoShape) {
  Result result(kWrite);
  result.Row(3)[100] ^= 1;
  result.Row(0)[530] ^= 0x10;
  EXPECT_EQ(result.Keys(), Keys{});
}

TEST(OtherReading, ScalesOfOtherTiles) {
  for (int by : {1, 2, 3}) {
    Result result(kWrite);
    for (int slot : {3, 0}) {
      std::uint8_t* scales = result.Row(slot) + 512;
      std::rotate(scales, scales + 4 * by, scales + 16);
    }
    EXPECT_EQ(result.Keys(), Keys{"scales-rotated"}) << by;
  }
  // One row alone is no habit.
  Result result(kWrite);
  std::rotate(result.Row(3) + 512, result.Row(3) + 516, result.Row(3) + 528);
  EXPECT_EQ(result.Keys(), Keys{});
}

TEST(OtherReading, BytesThatWereNeverWritten) {
  Result result(kWrite);
  for (int slot : {3, 0}) {
    std::fill_n(result.Row(slot) + 504, 8, std::uint8_t{0xa5});
  }
  EXPECT_EQ(result.Keys(), Keys{kBytesMissing});
  EXPECT_EQ(result.words,
            "the writer left bytes 504..511 of rows that it was to write as "
            "they were");
  // A byte of a gap is none of them.
  Result beside(kWrite);
  std::fill_n(beside.Row(3) + 504, 8, std::uint8_t{0xa5});
  beside.Row(1)[0] ^= 1;
  EXPECT_EQ(beside.Keys(), Keys{});
}

TEST(OtherReading, OrderOfBytesAndPairs) {
  Result scales(kWrite), rope(kWrite);
  for (int slot : {3, 0}) {
    for (int tile = 0; tile < 4; ++tile) {
      std::uint8_t* scale = scales.Row(slot) + 512 + 4 * tile;
      std::reverse(scale, scale + 4);
    }
    for (int pair = 0; pair < 32; ++pair) {
      std::uint8_t* values = rope.Row(slot) + 528 + 4 * pair;
      std::swap_ranges(values, values + 2, values + 2);
    }
  }
  EXPECT_EQ(scales.Keys(), Keys{"scale-byte-order"});
  EXPECT_EQ(rope.Keys(), Keys{"rope-pairs-swapped"});
}

TEST(OtherReading, AGatherThatReadsScalesOfOtherTiles) {
  constexpr char kGather[] = R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { kind: FINITE_ROWS seed: 4 }
    }
    steps {
      gather {
        dst_rows: 1
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 0 }
        }
      }
    })pb";
  Result result(kGather);
  // The same row with its scales rotated is what such a gather sees.
  const Case c = *ParseCaseText(kGather);
  CaseImage image = *BuildImage(c);
  std::uint8_t* scales = image.pool.bytes.data() + image.pool.RowAt(0) + 512;
  std::rotate(scales, scales + 12, scales + 16);
  result.outputs =
      Expect(BuiltinContract(), image, 0, image.pool.bytes).outputs;
  EXPECT_EQ(result.Keys(), Keys{"scales-rotated"});
}

}  // namespace
}  // namespace mlafuzz::oracle
