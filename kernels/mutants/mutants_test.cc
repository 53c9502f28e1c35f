// Each twin differs from builtin on a case made for it, and nowhere else where
// its fault does not show.
#include <cstring>

#include "gtest/gtest.h"
#include "kernels/test_support.h"

namespace mlafuzz {
namespace {

bool Differs(const std::string& target, const std::string& text) {
  const CaseImage image = test::Image(test::ParseCase(text));
  return !test::SameOutcome(test::Run(target, image),
                            test::Run("builtin", image));
}

constexpr char kWriteRope[] = R"pb(
  pool {
    page_size: 4
    pages: 2
    fill { kind: BYTE byte: 0xa5 }
  }
  steps {
    write {
      slots { values: [ 5, -1, 0 ] }
      pe_dim: 64
      kv_c { pattern: CONSTANT bits: 0x3f80 }
      k_pe { pattern: RANDOM_BITS seed: 1 }
    }
  })pb";

constexpr char kGatherRope[] = R"pb(
  pool {
    page_size: 4
    pages: 2
    fill { kind: ROWS seed: 3 }
  }
  steps {
    gather {
      dst_rows: 8
      workspace_starts: 0
      block_table {
        rows: 1
        columns: 2
        pages { values: [ 1, 0 ] }
      }
    }
  })pb";

TEST(Mutants, NopeStaleTail) {
  EXPECT_TRUE(Differs("mutant:nope-stale-tail", R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { kind: BYTE byte: 0xa5 }
    }
    steps { write { slots { values: 0 } } })pb"));
  EXPECT_FALSE(Differs("mutant:nope-stale-tail", kWriteRope));
}

TEST(Mutants, GatherStaleTail) {
  EXPECT_TRUE(Differs("mutant:gather-stale-tail", R"pb(
    pool {
      page_size: 1
      pages: 1
      fill { kind: BYTE byte: 0xa5 }
    }
    steps {
      gather {
        nope: true
        dst_rows: 1
        workspace_starts: 0
        block_table {
          rows: 1
          columns: 1
          pages { values: 0 }
        }
      }
    })pb"));
  EXPECT_FALSE(Differs("mutant:gather-stale-tail", kGatherRope));
}

TEST(Mutants, Fp16BitAmax) {
  const Case c = test::ParseCase(R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      write {
        input: F16
        slots { values: 0 }
        pe_dim: 64
        kv_c { pattern: CONSTANT bits: 0x3c00 }
      }
    })pb");
  const CaseImage image = test::Image(c);
  const Observation seen = test::Run("mutant:fp16-bit-amax", image);
  float scale;
  std::memcpy(&scale, &seen.steps[0].pool->at(512), 4);
  EXPECT_EQ(scale, 15360.0f / 448);
  EXPECT_EQ(seen.steps[0].pool->at(0), 0x0f);
  EXPECT_FALSE(test::SameOutcome(seen, test::Run("builtin", image)));
  EXPECT_FALSE(Differs("mutant:fp16-bit-amax", kWriteRope));
}

TEST(Mutants, WriterNegativeSlot) {
  const CaseImage image = test::Image(test::ParseCase(R"pb(
    pool { page_size: 4 pages: 1 }
    steps {
      write {
        slots { values: [ -1, -2 ] }
        pe_dim: 64
        kv_c { pattern: CONSTANT bits: 0x3f80 }
      }
    })pb"));
  const Observation seen = test::Run("mutant:writer-negative-slot", image);
  ASSERT_EQ(seen.steps[0].strays.size(), 1u);
  const Stray& stray = seen.steps[0].strays[0];
  EXPECT_FALSE(stray.tensor.has_value());
  EXPECT_GE(stray.first, -2 * 656);
  EXPECT_LE(stray.first, -2 * 656 + 8);
  EXPECT_LT(stray.last, -656);
  EXPECT_FALSE(Differs("mutant:writer-negative-slot", kWriteRope));
}

// As far as real callers' negative slots go, all are seen as strays.
TEST(Mutants, WriterNegativeSlotLandsInTheGuards) {
  for (int page_size : {1, 2, 3, 64}) {
    for (int slot = -2; slot >= -16; --slot) {
      const CaseImage image = test::Image(test::ParseCase(
          "pool { page_size: " + std::to_string(page_size) +
          " pages: 2 } steps { write { pe_dim: 64 slots { values: " +
          std::to_string(slot) + " } } }"));
      const Observation seen = test::Run("mutant:writer-negative-slot", image);
      ASSERT_EQ(seen.steps[0].status, CallStatus::kOk);
      ASSERT_EQ(seen.steps[0].strays.size(), 1u) << page_size << " " << slot;
      EXPECT_EQ(seen.steps[0].strays[0].count > 600, true);
    }
  }
}

TEST(Mutants, PayloadFallthrough) {
  const CaseImage image = test::Image(test::ParseCase(kWriteRope));
  const std::vector<std::uint8_t> wrong =
      *test::Run("mutant:payload-fallthrough", image).steps[0].pool;
  const std::vector<std::uint8_t> right =
      *test::Run("builtin", image).steps[0].pool;
  // Codes only: scales and rope are right.
  for (std::size_t i = 0; i < right.size(); ++i) {
    const bool written = i / 656 == 5 || i / 656 == 0;
    EXPECT_EQ(wrong[i] != right[i], written && i % 656 < 512) << i;
  }
}

TEST(Mutants, ScaleReciprocal) {
  // 71 of the 128 mantissas of a bf16 maximum show it (derived elsewhere).
  int differ = 0;
  for (int mantissa = 0; mantissa < 128; ++mantissa) {
    differ += Differs(
        "mutant:scale-reciprocal",
        "pool { page_size: 1 pages: 1 } steps { write { slots { values: 0 } "
        "kv_c { pattern: CONSTANT bits: " +
            std::to_string(0x3f80 + mantissa) + " } } }");
  }
  EXPECT_EQ(differ, 71);
}

TEST(Mutants, GatherDropsPages) {
  EXPECT_TRUE(Differs("mutant:gather-drops-pages", R"pb(
    pool {
      page_size: 4
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 4
        workspace_starts: [ 0, 2 ]
        block_table {
          rows: 2
          columns: 1
          pages { values: [ 1, 2 ] }
        }
      }
    })pb"));
  // Full pages only: nothing to lose.
  EXPECT_FALSE(Differs("mutant:gather-drops-pages", kGatherRope));
}

TEST(Mutants, TableRowFromShape) {
  EXPECT_TRUE(Differs("mutant:table-row-from-shape", R"pb(
    pool {
      page_size: 1
      pages: 4
      fill { kind: ROWS seed: 3 }
    }
    steps {
      gather {
        dst_rows: 3
        workspace_starts: [ 0, 1, 2 ]
        block_table {
          rows: 3
          columns: 1
          row_stride: 2
          pages { values: [ 1, 2, 3 ] }
        }
      }
    })pb"));
  EXPECT_FALSE(Differs("mutant:table-row-from-shape", kGatherRope));
}

TEST(Mutants, IndexZeroForInvalid) {
  EXPECT_TRUE(Differs("mutant:index-zero-for-invalid", R"pb(
    pool { page_size: 1 pages: 4 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 1
          pages { values: 2 }
        }
        token_indices { rows: 1 width: 2 valid: 1 limit: 1 }
      }
    })pb"));
  EXPECT_FALSE(Differs("mutant:index-zero-for-invalid", R"pb(
    pool { page_size: 1 pages: 4 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 1
          pages { values: 2 }
        }
        token_indices { rows: 1 width: 2 valid: 2 limit: 1 }
      }
    })pb"));
}

TEST(Mutants, MissingSyncwarp) {
  Case c = test::ParseCase(kGatherRope);
  const Observation right = test::Run("builtin", test::Image(c));
  int differ = 0;
  for (std::uint64_t schedule = 0; schedule < 200; ++schedule) {
    c.set_schedule(schedule * 0x9e3779b97f4a7c15u + schedule);
    differ += !test::SameOutcome(
        test::Run("mutant:missing-syncwarp", test::Image(c)), right);
  }
  RecordProperty("schedules_of_200", differ);
  EXPECT_GE(differ, 150);
}

TEST(Mutants, Impostors) {
  constexpr char kConvert[] = R"pb(
    pool { page_size: 2 pages: 4 }
    steps {
      convert {
        request_ids { values: 0 }
        block_table {
          rows: 1
          columns: 1
          pages { values: 2 }
        }
        token_indices { rows: 1 width: 2 valid: 2 limit: 2 }
      }
    })pb";
  constexpr char kDecode[] = R"pb(
    pool {
      page_size: 2
      pages: 4
      fill { kind: FINITE_ROWS }
    }
    steps {
      decode {
        queries: 1
        heads: 2
        pe_dim: 64
        q { pattern: NORMAL_RANGE seed: 1 }
        indices { rows: 1 width: 2 valid: 2 limit: 8 }
        softmax_scale_bits: 0x3d2aaaab
      }
    })pb";
  for (const char* target :
       {"mutant:does-nothing", "mutant:refuses-all", "mutant:returns-inputs"}) {
    SCOPED_TRACE(target);
    EXPECT_TRUE(Differs(target, kWriteRope));
    EXPECT_TRUE(Differs(target, kGatherRope));
    EXPECT_TRUE(Differs(target, kConvert));
    EXPECT_TRUE(Differs(target, kDecode));
  }
  const CaseImage image = test::Image(test::ParseCase(kWriteRope));
  EXPECT_EQ(test::Run("mutant:refuses-all", image).steps[0].status,
            CallStatus::kRefused);
  const StepObservation nothing =
      test::Run("mutant:does-nothing", image).steps[0];
  EXPECT_EQ(nothing.status, CallStatus::kOk);
  EXPECT_FALSE(nothing.pool.has_value());
  const StepObservation copied =
      test::Run("mutant:returns-inputs", image).steps[0];
  EXPECT_EQ(copied.status, CallStatus::kOk);
  EXPECT_TRUE(copied.strays.empty());
  EXPECT_EQ(std::memcmp(&copied.pool->at(5 * 656),
                        image.steps[0].Find(TensorId::kKvC)->bytes.data(), 656),
            0);
  const CaseImage decode = test::Image(test::ParseCase(kDecode));
  const Observation seen = test::Run("mutant:returns-inputs", decode);
  EXPECT_TRUE(seen.steps[0].strays.empty());
  const std::vector<Tensor>& tensors = decode.steps[0].tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].id != TensorId::kAttention) continue;
    // Row 1 of both: the second head.
    EXPECT_EQ(
        std::memcmp(&seen.steps[0].outputs[i].at(2 * tensors[i].strides[1]),
                    &tensors[0].bytes.at(2 * tensors[0].strides[1]), 1024),
        0);
  }
}

TEST(Mutants, TheControlIsRight) {
  EXPECT_FALSE(Differs("control:thread-mapping", kWriteRope));
  EXPECT_FALSE(Differs("control:thread-mapping", R"pb(
    pool { page_size: 4 pages: 2 }
    steps {
      write {
        input: F16
        slots { count: 8 }
        kv_c { pattern: MIXED seed: 1 }
      }
    })pb"));
}

}  // namespace
}  // namespace mlafuzz
