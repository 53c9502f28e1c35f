#include "oracle/some_rows.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/contracts.h"
#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

// What two rules leave behind of a case's only call, to be mixed by hand.
class Mixed {
 public:
  Mixed(const std::string& text, const Contract& other)
      : case_(*ParseCaseText(text)),
        image_(*BuildImage(case_)),
        expected_(Of(BuiltinContract())),
        other_(Of(other)) {
    const auto whole = ExpectedPool(expected_, image_.pool.bytes);
    pool.assign(whole.begin(), whole.end());
    outputs = expected_.outputs;
  }

  // A slot's row, a row of dst, an element of out as the other rule has it.
  void TakeSlot(std::int64_t slot) {
    const std::int64_t at = image_.pool.RowAt(slot);
    std::copy_n(ExpectedPool(other_, image_.pool.bytes).begin() + at,
                image_.pool.row_bytes, pool.begin() + at);
  }
  void TakeBytes(std::int64_t first, std::int64_t bytes) {
    for (std::size_t t = 0; t < outputs.size(); ++t) {
      if (outputs[t].empty()) continue;
      std::copy_n(other_.outputs[t].begin() + first, bytes,
                  outputs[t].begin() + first);
      return;
    }
  }

  std::int64_t Rows() const {
    AfterImage after;
    after.pool = pool;
    for (const auto& output : outputs) after.outputs.push_back(output);
    return RowsUnderOtherRule(image_, 0, image_.pool.bytes, expected_, other_,
                              after);
  }
  std::uint8_t* Row(std::int64_t slot) {
    return pool.data() + image_.pool.RowAt(slot);
  }
  const PoolImage& before() const { return image_.pool; }

  std::vector<std::uint8_t> pool;
  std::vector<std::vector<std::uint8_t>> outputs;

 private:
  Expectation Of(const Contract& contract) const {
    return Expect(contract, image_, 0, image_.pool.bytes);
  }

  Case case_;
  CaseImage image_;
  Expectation expected_;
  Expectation other_;
};

constexpr char kWrite[] = R"pb(
  pool {
    page_size: 2
    pages: 2
    fill { byte: 0xa5 }
  }
  steps {
    write {
      slots { values: [ 3, 0, 2 ] }
      kv_c { pattern: OCTAVES seed: 5 }
    }
  })pb";

Contract StaleTail() {
  Contract contract = BuiltinContract();
  contract.mutable_writer()->set_tail(WriterContract::TAIL_UNCHANGED);
  return contract;
}

TEST(RowsUnderOtherRule, OfAWriter) {
  Mixed mixed(kWrite, StaleTail());
  EXPECT_EQ(mixed.Rows(), 0);  // nothing is wrong
  mixed.TakeSlot(3);
  EXPECT_EQ(mixed.Rows(), 1);
  mixed.TakeSlot(0);
  EXPECT_EQ(mixed.Rows(), 2);
  // All of them: the rule explains the call as a whole.
  mixed.TakeSlot(2);
  EXPECT_EQ(mixed.Rows(), 0);
}

TEST(RowsUnderOtherRule, OneByteThatNeitherRuleLeavesIsTooMuch) {
  Mixed mixed(kWrite, StaleTail());
  mixed.TakeSlot(3);
  mixed.Row(0)[7] ^= 1;
  EXPECT_EQ(mixed.Rows(), 0);
  mixed.Row(0)[7] ^= 1;
  // Of a row that nobody was to write, or in the one that is explained.
  mixed.Row(1)[0] ^= 1;
  EXPECT_EQ(mixed.Rows(), 0);
  mixed.Row(1)[0] ^= 1;
  mixed.Row(3)[0] ^= 1;
  EXPECT_EQ(mixed.Rows(), 0);
}

// It may have been left alone for any reason.
TEST(RowsUnderOtherRule, NotOfARowThatWasNeverWritten) {
  Mixed mixed(kWrite, StaleTail());
  std::copy_n(mixed.before().bytes.begin() + mixed.before().RowAt(3),
              mixed.before().row_bytes, mixed.Row(3));
  EXPECT_EQ(mixed.Rows(), 0);
}

TEST(RowsUnderOtherRule, OfAGather) {
  Contract pow2 = BuiltinContract();
  pow2.mutable_gather()->set_scale(GatherContract::SCALE_POW2_FLOOR);
  Mixed mixed(R"pb(
                pool {
                  page_size: 2
                  pages: 2
                  fill { kind: ROWS seed: 3 }
                }
                steps {
                  gather {
                    block_table {
                      rows: 1
                      columns: 2
                      pages { values: [ 1, 0 ] }
                    }
                    workspace_starts: 0
                    dst_rows: 4
                    dst_row_stride: 584
                  }
                })pb",
              pow2);
  mixed.TakeBytes(1168, 1152);
  EXPECT_EQ(mixed.Rows(), 1);
  // Half of a row is no row.
  mixed.TakeBytes(2336, 256);
  EXPECT_EQ(mixed.Rows(), 0);
}

TEST(RowsUnderOtherRule, OfAnIndexConversionByElements) {
  Contract untouched = BuiltinContract();
  untouched.mutable_convert()->set_invalid(ConvertContract::INVALID_UNTOUCHED);
  Mixed mixed(R"pb(
                pool { page_size: 2 pages: 4 }
                steps {
                  convert {
                    request_ids { values: [ 0, 0 ] }
                    block_table {
                      rows: 1
                      columns: 1
                      pages { values: [ 3 ] }
                    }
                    token_indices { rows: 2 width: 3 valid: 1 limit: 2 }
                  }
                })pb",
              untouched);
  mixed.TakeBytes(4, 4);
  EXPECT_EQ(mixed.Rows(), 1);
  mixed.TakeBytes(8, 4);
  EXPECT_EQ(mixed.Rows(), 2);
  mixed.TakeBytes(0, 24);
  EXPECT_EQ(mixed.Rows(), 0);
}

}  // namespace
}  // namespace mlafuzz::oracle
