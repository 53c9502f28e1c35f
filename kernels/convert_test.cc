#include <cstring>

#include "gtest/gtest.h"
#include "kernels/case_checks.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

using test::Converted;

Converted Convert(const std::string& text,
                  const std::string& target = "builtin") {
  return test::Convert(target, text);
}

TEST(ConvertIndices, SlotsOfTokens) {
  const Converted got = Convert(R"pb(
    pool { page_size: 4 pages: 9 }
    steps {
      convert {
        request_ids { values: [ 1, 0 ] }
        block_table {
          rows: 2
          columns: 2
          pages { values: [ 7, 2, 5, 0 ] }
        }
        token_indices {
          rows: 2
          width: 6
          limit: 8
          valid: 6
          set { at: 0 value: 0 }
          set { at: 1 value: 3 }
          set { at: 2 value: 4 }
          set { at: 3 value: 7 }
          set { at: 4 value: 8 }
          set { at: 5 value: -1 }
          set { at: 6 value: 5 }
          set { at: 7 value: -7 }
          set { at: 8 value: 2147483647 }
          set { at: 9 value: -2147483648 }
          set { at: 10 value: 1 }
          set { at: 11 value: 6 }
        }
        valid_count: true
      }
    })pb");
  EXPECT_EQ(got.out, (std::vector<std::int32_t>{20, 23, 0, 3, -1, -1,  //
                                                9, -1, -1, -1, 29, 10}));
  EXPECT_EQ(got.valid_count, (std::vector<std::int32_t>{4, 3}));
}

// Page numbers are not looked at; slots wrap around like int32.
TEST(ConvertIndices, AnyPageNumber) {
  const Converted got = Convert(R"pb(
    pool { page_size: 64 pages: 1 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 2
          pages { values: [ -1, 2147483647 ] }
        }
        token_indices {
          rows: 1
          width: 2
          limit: 1
          valid: 2
          set { at: 0 value: 3 }
          set { at: 1 value: 65 }
        }
      }
    })pb");
  EXPECT_EQ(got.out, (std::vector<std::int32_t>{-61, -63}));
}

// More than one pass of the block over the row, and a ragged end.
TEST(ConvertIndices, WideRowsAndStrides) {
  const std::string text = R"pb(
    pool { page_size: 2 pages: 50 }
    poison: 5
    steps {
      convert {
        request_ids { values: [ 2, 0, 2 ] }
        block_table {
          rows: 3
          columns: 20
          row_stride: 23
          pages { count: 60 order: PERMUTED seed: 3 }
        }
        token_indices {
          rows: 3
          width: 301
          row_stride: 310
          valid: 280
          limit: 44
          seed: 6
          place: SCATTERED
          pad: MIXED_PAD
        }
        out_row_stride: 305
        valid_count: true
      }
    })pb";
  const CaseImage image = test::Image(test::ParseCase(text));
  const StepImage& step = image.steps[0];
  const auto entry = [&](TensorId id, std::int64_t row, std::int64_t column) {
    const Tensor& t = *step.Find(id);
    std::int32_t value;
    std::memcpy(&value, &t.bytes[4 * (row * t.strides[0] + column)], 4);
    return value;
  };
  std::vector<std::int32_t> want = test::Ints(step.Find(TensorId::kOut)->bytes);
  std::vector<std::int32_t> counts(3);
  for (int row = 0; row < 3; ++row) {
    const std::int32_t request = entry(TensorId::kRequestIds, row, 0);
    for (int i = 0; i < 301; ++i) {
      const std::int32_t token = entry(TensorId::kTokenIndices, row, i);
      std::int32_t& out = want[row * 305 + i];
      out = -1;
      if (token < 0 || token / 2 >= 20) continue;
      out = entry(TensorId::kBlockTable, request, token / 2) * 2 + token % 2;
      ++counts[row];
    }
  }
  const Converted got = Convert(text);
  EXPECT_EQ(got.out, want);
  EXPECT_EQ(got.valid_count, counts);
}

// Rows of the table are bounded as its columns are, and what is valid is first
// also behind what is not.
TEST(CompactingIndices, BothAxesAndInvalidBeforeValid) {
  const Converted got = Convert(R"pb(
                                  pool { page_size: 4 pages: 9 }
                                  steps {
                                    convert {
                                      request_ids { values: [ 1, 2, -1, 0 ] }
                                      block_table {
                                        rows: 2
                                        columns: 2
                                        row_stride: 3
                                        pages { values: [ 7, 2, 5, 0 ] }
                                      }
                                      token_indices {
                                        rows: 4
                                        width: 4
                                        limit: 8
                                        valid: 4
                                        set { at: 0 value: -1 }
                                        set { at: 1 value: 8 }
                                        set { at: 2 value: 5 }
                                        set { at: 3 value: 0 }
                                        set { at: 12 value: 3 }
                                        set { at: 13 value: -7 }
                                        set { at: 14 value: 2147483647 }
                                        set { at: 15 value: 4 }
                                      }
                                      valid_count: true
                                    }
                                  })pb",
                                "builtin:compacting");
  EXPECT_EQ(got.out, (std::vector<std::int32_t>{1, 20, -1, -1,   //
                                                -1, -1, -1, -1,  //
                                                -1, -1, -1, -1,  //
                                                31, 8, -1, -1}));
  EXPECT_EQ(got.valid_count, (std::vector<std::int32_t>{2, 0, 0, 2}));
}

TEST(ConvertIndices, NothingToDo) {
  const Converted got = Convert(R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      convert {
        block_table { rows: 1 columns: 1 }
        token_indices { rows: 0 width: 4 }
      }
    })pb");
  EXPECT_TRUE(got.out.empty());
  // A row without entries still has a count.
  EXPECT_EQ(Convert(R"pb(
              pool { page_size: 1 pages: 1 }
              steps {
                convert {
                  block_table { rows: 1 columns: 1 }
                  valid_count: true
                  request_ids { values: 0 }
                  token_indices { rows: 1 width: 0 }
                }
              })pb")
                .valid_count,
            (std::vector<std::int32_t>{0}));
}

TEST(ConvertIndices, EveryScheduleGivesTheSame) {
  const Case c = test::ParseCase(R"pb(
    pool { page_size: 2 pages: 50 }
    steps {
      convert {
        request_ids { values: [ 1, 0 ] }
        block_table {
          rows: 2
          columns: 20
          pages { count: 40 }
        }
        token_indices { rows: 2 width: 200 valid: 150 limit: 44 seed: 6 }
        valid_count: true
      }
    })pb");
  test::ExpectEveryScheduleGivesTheSame("builtin", c);
}

}  // namespace
}  // namespace mlafuzz
