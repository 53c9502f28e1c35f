#include <algorithm>
#include <cstring>

#include "gtest/gtest.h"
#include "kernels/case_checks.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

std::int32_t Entry(const Tensor& tensor, std::int64_t row,
                   std::int64_t column = 0) {
  std::int32_t value;
  std::memcpy(&value, &tensor.bytes[4 * (row * tensor.strides[0] + column)], 4);
  return value;
}

// What dst must hold: row by row, by the definition of the two length
// conventions.
std::vector<std::uint8_t> ExpectedDst(const CaseImage& image) {
  const StepImage& step = image.steps.at(0);
  const Tensor& dst = *step.Find(TensorId::kDst);
  const Tensor& table = *step.Find(TensorId::kBlockTable);
  const Tensor& starts = *step.Find(TensorId::kWorkspaceStarts);
  const Tensor* lens = step.Find(TensorId::kSeqLens);
  const Tensor* seq_starts = step.Find(TensorId::kSeqStarts);
  const bool nope = step.step->gather().nope();
  std::vector<std::uint8_t> out = dst.bytes;
  for (std::int64_t r = 0; r < starts.shape[0]; ++r) {
    const std::int64_t start = Entry(starts, r);
    std::int64_t end = lens != nullptr           ? start + Entry(*lens, r)
                       : r + 1 < starts.shape[0] ? Entry(starts, r + 1)
                                                 : dst.shape[0];
    if (lens == nullptr) end = std::min(end, dst.shape[0]);
    for (std::int64_t i = start; i < end; ++i) {
      const std::int64_t token =
          i - start + (seq_starts != nullptr ? Entry(*seq_starts, r) : 0);
      const std::int64_t page = Entry(table, r, token / image.pool.page_size);
      const auto row = test::GatheredRow(
          &image.pool.bytes[image.pool.RowAt(page * image.pool.page_size +
                                             token % image.pool.page_size)],
          nope);
      std::memcpy(&out[2 * i * dst.strides[0]], row.data(), 1152);
    }
  }
  return out;
}

void ExpectRight(const std::string& text) {
  const CaseImage image = test::Image(test::ParseCase(text));
  const Observation seen = test::Run("builtin", image);
  ASSERT_EQ(seen.steps.size(), 1u);
  const StepObservation& step = seen.steps[0];
  EXPECT_EQ(step.status, CallStatus::kOk) << step.message;
  EXPECT_TRUE(step.strays.empty());
  EXPECT_TRUE(step.reports.empty());
  EXPECT_FALSE(step.pool.has_value());
  const std::vector<std::uint8_t> want = ExpectedDst(image);
  ASSERT_EQ(step.outputs[0].size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(step.outputs[0][i], want[i]) << "byte " << i;
  }
}

TEST(Gather, EveryCodeWithScalesOfEveryClass) {
  for (int scales = 0; scales <= Fill::Scales_MAX; ++scales) {
    const std::string name =
        Fill::Scales_Name(static_cast<Fill::Scales>(scales));
    SCOPED_TRACE(name);
    ExpectRight(
        "pool { page_size: 4 pages: 5 fill { kind: ROWS scales: " + name +
        " seed: 8 } } steps { gather { dst_rows: 18"
        "  workspace_starts: [0, 7]"
        "  block_table { rows: 2 columns: 3"
        "    pages { values: [4, 0, 2, 3, 1, 2] } } } }");
  }
}

// As the native kernel does: a start past the workspace is its end.
TEST(Gather, StartsPastTheEndAreClamped) {
  ExpectRight(
      "pool { page_size: 4 pages: 3 fill { kind: ROWS seed: 5 } }"
      "steps { gather { dst_rows: 5 workspace_starts: [0, 9, 12]"
      "  block_table { rows: 3 columns: 3 pages { count: 9 } } } }");
}

TEST(Gather, AnyBytes) {
  ExpectRight(R"pb(
    pool {
      page_size: 64
      pages: 2
      fill { kind: RANDOM_BYTES seed: 1 }
    }
    steps {
      gather {
        dst_rows: 70
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 2
          pages { values: [ 1, 0 ] }
        }
      }
    })pb");
}

TEST(Gather, NopeTailIsZero) {
  ExpectRight(R"pb(
    pool {
      page_size: 2
      pages: 2
      fill { kind: BYTE byte: 0xa5 }
    }
    steps {
      gather {
        nope: true
        dst_rows: 3
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 2
          pages { values: [ 1, 0 ] }
        }
      }
    })pb");
}

TEST(Gather, LengthsFromTheirOwnTensor) {
  ExpectRight(R"pb(
    pool {
      page_size: 3
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 12
        workspace_starts: [ 6, 0, 1 ]
        seq_lens: [ 5, 0, 4 ]
        block_table {
          rows: 3
          columns: 2
          pages { values: [ 1, 0, 3, 3, 2, 1 ] }
        }
      }
    })pb");
}

TEST(Gather, FirstTokensInsideAPage) {
  ExpectRight(R"pb(
    pool {
      page_size: 4
      pages: 6
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 13
        workspace_starts: [ 0, 2, 8 ]
        seq_starts: [ 7, 3, 0 ]
        block_table {
          rows: 3
          columns: 3
          pages { values: [ 0, 1, 2, 3, 4, 5, 5, 2, 1 ] }
        }
      }
    })pb");
}

TEST(Gather, StridesOffsetsAndNarrowedTables) {
  ExpectRight(R"pb(
    pool {
      page_size: 2
      pages: 4
      row_stride: 664
      page_stride: 1400
      offset: 16
      fill { kind: ROWS seed: 3 }
    }
    poison: 3
    steps {
      gather {
        dst_rows: 6
        dst_row_stride: 584
        workspace_starts: [ 0, 3 ]
        block_table {
          rows: 2
          columns: 2
          row_stride: 9
          pages { values: [ 3, 1, 2, 0 ] }
        }
      }
    })pb");
  ExpectRight(R"pb(
    pool {
      page_size: 2
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 6
        workspace_starts: [ 0, 3 ]
        block_table {
          rows: 2
          columns: 2
          expanded: true
          pages { values: [ 3, 1 ] }
        }
      }
    })pb");
}

TEST(Gather, RowsBeforeTheFirstStartAreUntouched) {
  ExpectRight(R"pb(
    pool {
      page_size: 1
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 5
        workspace_starts: [ 2, 2, 4 ]
        block_table {
          rows: 3
          columns: 2
          pages { values: [ 0, 1, 2, 3, 1, 0 ] }
        }
      }
    })pb");
}

TEST(Gather, NothingToDo) {
  ExpectRight(R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      gather {
        dst_rows: 0
        workspace_starts: 0
        block_table { rows: 1 columns: 1 }
      }
    })pb");
  ExpectRight(R"pb(
    pool { page_size: 1 pages: 1 }
    steps { gather { dst_rows: 3 } })pb");
}

// Starts that go back ask for more tasks than the grid has: those past it are
// dropped in order, 194 of 400 (as measured on a real gather).
TEST(Gather, TasksPastTheGridAreDropped) {
  Case c = test::ParseCase(R"pb(
    pool {
      page_size: 1
      pages: 3
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 200
        workspace_starts: [ 0, 200, 0 ]
        block_table { rows: 3 columns: 200 row_stride: 200 }
      }
    })pb");
  auto& pages = *c.mutable_steps(0)
                     ->mutable_gather()
                     ->mutable_block_table()
                     ->mutable_pages();
  for (int i = 0; i < 400; ++i) pages.add_values(0);
  for (int i = 0; i < 200; ++i) pages.add_values(1);
  const CaseImage image = test::Image(c);
  const Observation seen = test::Run("builtin", image);
  ASSERT_EQ(seen.steps[0].status, CallStatus::kOk);
  const auto of_page = [&](int page) {
    return test::GatheredRow(&image.pool.bytes[image.pool.RowAt(page)], false);
  };
  for (int row = 0; row < 200; ++row) {
    const auto want = of_page(row < 6 ? 1 : 0);
    ASSERT_EQ(
        std::memcmp(&seen.steps[0].outputs[0][1152 * row], want.data(), 1152),
        0)
        << row;
  }
}

TEST(Gather, EveryScheduleGivesTheSame) {
  const Case c = test::ParseCase(R"pb(
    pool {
      page_size: 3
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 7
        workspace_starts: [ 0, 4 ]
        block_table {
          rows: 2
          columns: 2
          pages { values: [ 1, 0, 3, 2 ] }
        }
      }
    })pb");
  test::ExpectEveryScheduleGivesTheSame("builtin", c);
}

}  // namespace
}  // namespace mlafuzz
