#include "properties/minimize/minimize.h"

#include <string>
#include <vector>

#include "corpus/codec.h"
#include "corpus/image.h"
#include "corpus/values.h"
#include "gtest/gtest.h"
#include "properties/generate.h"
#include "properties/minimize/testing/twin.h"

namespace mlafuzz {
namespace {

struct Minimum {
  const char* target;
  const char* cause;
  const char* minimal;  // the exact case, as text
};

void PrintTo(const Minimum& m, std::ostream* out) { *out << m.target; }

class MinimizeQuality : public testing::TestWithParam<Minimum> {};

// The exact minimum of each wrong twin, from a rich failing case; a second run
// finds nothing more to take away.
TEST_P(MinimizeQuality, FindsTheMinimum) {
  Twin twin(GetParam().target);
  const std::string cause = GetParam().cause;
  const Case rich = twin.RichFailure(cause, 12);
  MinimizeProgress progress;
  const Case minimal = twin.Minimal(cause, rich, &progress);
  EXPECT_EQ(twin.CauseOf(minimal), cause);
  absl::StatusOr<Case> expected = ParseCaseText(GetParam().minimal);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(FormatCaseText(minimal), FormatCaseText(*expected));
  EXPECT_LT(progress.tries, 2000u);
  EXPECT_EQ(progress.bytes, CanonicalBinary(minimal).size());
  const Case again = twin.Minimal(cause, minimal);
  EXPECT_EQ(CanonicalBinary(again), CanonicalBinary(minimal));
}

INSTANTIATE_TEST_SUITE_P(
    Twins, MinimizeQuality,
    testing::Values(
        Minimum{"mutant:nope-stale-tail", "writer/writer.tail=TAIL_UNCHANGED",
                R"pb(
                  pool {
                    page_size: 1
                    pages: 1
                    fill { byte: 1 }
                  }
                  steps { write { slots { values: 0 } } }
                )pb"},
        // A tile with one value of 1.0.
        Minimum{"mutant:fp16-bit-amax", "writer/writer.fp16_amax=FP16_RAW_BITS",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps {
                    write {
                      slots { values: 0 }
                      input: F16
                      kv_c { set { bits: 0x3c00 } }
                    }
                  }
                )pb"},
        Minimum{"mutant:writer-negative-slot",
                "writer/writer.slots=MINUS_ONE_SKIPPED",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps { write { slots { values: -2 } } }
                )pb"},
        Minimum{"mutant:payload-fallthrough", "writer/codes-only",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps {
                    write {
                      slots { values: 0 }
                      kv_c { set { bits: 0x3f80 } }
                    }
                  }
                )pb"},
        // 1/448 of 1.0 is the same either way; of 1.5 it is not.
        Minimum{"mutant:scale-reciprocal",
                "writer/writer.scale_division=TIMES_RECIPROCAL",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps {
                    write {
                      slots { values: 0 }
                      kv_c { set { bits: 0x3fc0 } }
                    }
                  }
                )pb"},
        Minimum{"mutant:gather-stale-tail",
                "gather/gather.nope_tail=NOPE_TAIL_VERBATIM",
                R"pb(
                  pool {
                    page_size: 1
                    pages: 1
                    fill { byte: 1 }
                  }
                  steps {
                    gather {
                      block_table {
                        rows: 1
                        columns: 1
                        pages { values: 0 }
                      }
                      workspace_starts: 0
                      dst_rows: 1
                      nope: true
                    }
                  }
                )pb"},
        // Two rows that lie on two pages: one block too few.
        Minimum{"mutant:gather-drops-pages",
                "gather/gather.page_tasks=ROWS_ONLY",
                R"pb(
                  pool { page_size: 2 pages: 1 }
                  steps {
                    gather {
                      block_table {
                        rows: 1
                        columns: 2
                        pages { values: [ 0, 0 ] }
                      }
                      workspace_starts: 0
                      seq_starts: 1
                      dst_rows: 2
                    }
                  }
                )pb"},
        // Row 1 of a table whose rows lie two apart, and two rows that differ.
        Minimum{"mutant:table-row-from-shape",
                "gather/gather.table_row=TABLE_ROW_SHAPE",
                R"pb(
                  pool {
                    page_size: 1
                    pages: 2
                    patches { slot: 0 at: 528 data: "\001" }
                  }
                  steps {
                    gather {
                      block_table {
                        rows: 2
                        columns: 1
                        row_stride: 2
                        pages { values: [ 0, 1 ] }
                      }
                      workspace_starts: [ 0, 0 ]
                      dst_rows: 1
                    }
                  }
                )pb"},
        Minimum{"mutant:index-zero-for-invalid",
                "convert/convert.invalid=INVALID_ZERO",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps {
                    convert {
                      request_ids { values: 0 }
                      token_indices { rows: 1 width: 1 }
                      block_table { rows: 1 }
                    }
                  }
                )pb"},
        Minimum{"mutant:missing-syncwarp", "gather/values-only",
                R"pb(
                  pool { page_size: 1 pages: 1 }
                  steps {
                    gather {
                      block_table {
                        rows: 1
                        columns: 1
                        pages { values: 0 }
                      }
                      workspace_starts: 0
                      dst_rows: 1
                    }
                  }
                )pb"}));

// What is left of a wrong decode: one query, one head, the narrowest index row
// that shows it, no more keys than it takes.
struct DecodeMinimum {
  const char* target;
  const char* cause;
  std::uint32_t queries;
  std::uint32_t width;
  int keys;  // at most, of one query
};

void PrintTo(const DecodeMinimum& m, std::ostream* out) { *out << m.target; }

class DecodeQuality : public testing::TestWithParam<DecodeMinimum> {};

TEST_P(DecodeQuality, FindsASmallCase) {
  constexpr GeneratorOptions kDecodes = {
      .writer = false, .gather = false, .convert = false, .decode = true};
  const DecodeMinimum& want = GetParam();
  Twin twin(want.target);
  const std::string cause = want.cause;
  const Case rich = twin.RichFailure(cause, 4, kDecodes);
  MinimizeProgress progress;
  const Case minimal = twin.Minimal(cause, rich, &progress);
  EXPECT_EQ(twin.CauseOf(minimal), cause);
  ASSERT_EQ(minimal.steps_size(), 1);
  const Decode& decode = minimal.steps(0).decode();
  EXPECT_EQ(decode.queries(), want.queries) << FormatCaseText(minimal);
  EXPECT_EQ(decode.heads(), 1u) << FormatCaseText(minimal);
  EXPECT_EQ(decode.indices().width(), want.width) << FormatCaseText(minimal);
  int keys = 0;
  for (const std::int32_t index : ExpandIndices(decode.indices())) {
    keys += index >= 0;
  }
  EXPECT_LE(keys, want.keys * static_cast<int>(want.queries))
      << FormatCaseText(minimal);
  EXPECT_EQ(minimal.pool().pages() * minimal.pool().page_size() <= 2, true)
      << FormatCaseText(minimal);
  EXPECT_LT(progress.tries, 5000u);
  const Case again = twin.Minimal(cause, minimal);
  EXPECT_EQ(CanonicalBinary(again), CanonicalBinary(minimal));
}

INSTANTIATE_TEST_SUITE_P(
    Twins, DecodeQuality,
    testing::Values(
        DecodeMinimum{"mutant:both-pow2-scale",
                      "decode/qk.scale_rule=SCALE_POW2_FLOOR+"
                      "v.scale_rule=SCALE_POW2_FLOOR",
                      1, 1, 1},
        DecodeMinimum{"mutant:all-masked-unit-weight",
                      "decode/decode.empty_row=UNIT_WEIGHTS", 1, 1, 0},
        DecodeMinimum{"mutant:qk-pow2-scale",
                      "decode/qk.scale_rule=SCALE_POW2_FLOOR", 1, 1, 1},
        DecodeMinimum{"mutant:v-pow2-scale",
                      "decode/v.scale_rule=SCALE_POW2_FLOOR", 1, 1, 1},
        DecodeMinimum{"mutant:capacity-from-topk-refuses",
                      "decode/decode.capacity=DECLARED_TOPK_REFUSES", 1, 2, 0},
        DecodeMinimum{"mutant:capacity-from-topk-clips",
                      "decode/decode.capacity=DECLARED_TOPK_CLIPS", 1, 2, 1},
        DecodeMinimum{"mutant:length-ignored-above-64",
                      "decode/decode.length=LENGTH_IGNORED", 65, 1, 1},
        DecodeMinimum{"mutant:sink-dropped", "decode/decode.sink=SINK_DROPPED",
                      1, 1, 1},
        DecodeMinimum{"mutant:lse-wrong-base", "decode/decode.lse_base=BASE_E",
                      1, 1, 1},
        DecodeMinimum{"mutant:missing-rescale", "decode/missing-rescale", 1, 65,
                      2},
        DecodeMinimum{"mutant:split-partial-dropped",
                      "decode/split-partial-dropped", 1, 65, 2}));

// Of every other wrong decode, by whatever cause it fails first: never more
// than one query, one head, two lanes and two keys.
class DecodeShape : public testing::TestWithParam<const char*> {};

TEST_P(DecodeShape, IsOneQueryOneHeadTwoKeysAtMost) {
  constexpr GeneratorOptions kDecodes = {
      .writer = false, .gather = false, .convert = false, .decode = true};
  Twin twin(GetParam());
  const std::string cause = twin.FirstCause(kDecodes);
  const Case minimal =
      twin.Minimal(cause, twin.RichFailure(cause, 4, kDecodes));
  EXPECT_EQ(twin.CauseOf(minimal), cause);
  ASSERT_EQ(minimal.steps_size(), 1);
  const Decode& decode = minimal.steps(0).decode();
  EXPECT_EQ(decode.queries(), 1u) << FormatCaseText(minimal);
  EXPECT_EQ(decode.heads(), 1u) << FormatCaseText(minimal);
  EXPECT_LE(decode.indices().width(), 2u) << FormatCaseText(minimal);
  int keys = 0;
  for (const std::int32_t index : ExpandIndices(decode.indices())) {
    keys += index >= 0;
  }
  EXPECT_LE(keys, 2) << FormatCaseText(minimal);
}

INSTANTIATE_TEST_SUITE_P(Twins, DecodeShape,
                         testing::Values("mutant:masked-lane-reads-slot0",
                                         "mutant:leading-block-nan",
                                         "mutant:tail-read-as-rope"));

// Searches whose answer is known without any kernel.
TEST(MinimizeTest, KeepsOnlyWhatTheTestAsksFor) {
  Choices choices(3);
  for (int i = 0; i < 20; ++i) {
    const Case c = GenerateCase(choices, {.gather = false, .convert = false});
    const Case minimal = Minimize(c, {}, [](const Case&) { return true; }, {});
    EXPECT_EQ(minimal.steps_size(), 1);
    EXPECT_EQ(minimal.pool().pages(), 1u);
    EXPECT_EQ(minimal.pool().page_size(), 1u);
    // Slots are all that a write without tokens has left.
    EXPECT_LT(CanonicalBinary(minimal).size(), 20u) << FormatCaseText(minimal);
  }
}

// One NaN among the values of three tokens, wherever it stands.
TEST(MinimizeTest, FindsOneValueAmongMany) {
  Case c;
  c.mutable_pool()->set_page_size(4);
  c.mutable_pool()->set_pages(2);
  Write& w = *c.add_steps()->mutable_write();
  for (const int slot : {5, 1, 7}) w.mutable_slots()->add_values(slot);
  w.mutable_kv_c()->set_pattern(Values::NORMAL_RANGE);
  w.mutable_kv_c()->set_seed(5);
  SetBits& nan = *w.mutable_kv_c()->add_set();
  nan.set_at(2 * 512 + 300);
  nan.set_bits(0xffd5);
  const auto has_nan = [](const Case& candidate) {
    absl::StatusOr<CaseImage> image = BuildImage(candidate);
    for (const StepImage& step : image->steps) {
      const Tensor* kv = step.Find(TensorId::kKvC);
      if (kv == nullptr || kv->dtype != BF16) continue;
      for (std::size_t i = 0; i + 1 < kv->bytes.size(); i += 2) {
        if ((kv->bytes[i + 1] & 0x7f) == 0x7f && kv->bytes[i] > 0x80) {
          return true;
        }
      }
    }
    return false;
  };
  ASSERT_TRUE(has_nan(c));
  const Case minimal = Minimize(c, {}, has_nan, {});
  const Write& left = minimal.steps(0).write();
  EXPECT_EQ(left.slots().values_size(), 1);
  EXPECT_EQ(left.slots().values(0), 0);
  EXPECT_EQ(left.kv_c().pattern(), Values::ZERO);
  ASSERT_EQ(left.kv_c().set_size(), 1);
  EXPECT_EQ(left.kv_c().set(0).at(), 0u);
  // One mantissa bit is enough for a NaN.
  EXPECT_EQ(left.kv_c().set(0).bits() & 0xff80, 0x7f80u);
}

// A value that is moved onto another takes its place, and the list is shorter.
TEST(MinimizeTest, ValuesMayBecomeOne) {
  Case c = *ParseCaseText(R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      write {
        slots { values: 0 }
        kv_c {
          set { at: 5 bits: 0x4049 }
          set { at: 6 bits: 0x4049 }
          set { at: 7 bits: 0x4049 }
        }
      }
    })pb");
  const Case smallest = Minimize(c, {},
                                 [](const Case& candidate) {
                                   const auto& sets =
                                       candidate.steps(0).write().kv_c().set();
                                   bool pi = false, first = false;
                                   for (const SetBits& set : sets) {
                                     pi |= set.bits() == 0x4049;
                                     first |= set.at() == 0;
                                   }
                                   return pi && (first || sets.size() >= 3);
                                 },
                                 {});
  EXPECT_LT(smallest.steps(0).write().kv_c().set_size(), 3);
}

TEST(MinimizeTest, KeepsToItsBudget) {
  Choices choices(4);
  const Case c = GenerateCase(choices, {});
  int calls = 0;
  MinimizeProgress last;
  Minimize(
      c, {.max_tries = 7},
      [&](const Case&) {
        ++calls;
        return false;
      },
      [&](const MinimizeProgress& p) { last = p; });
  EXPECT_LE(calls, 7);
  EXPECT_EQ(last.tries, 7u);
  EXPECT_EQ(last.since_success, 7u);
}

TEST(MinimizeTest, SameInputSameResult) {
  Twin twin("mutant:payload-fallthrough");
  const Case rich = twin.RichFailure("writer/codes-only", 3);
  EXPECT_EQ(CanonicalBinary(twin.Minimal("writer/codes-only", rich)),
            CanonicalBinary(twin.Minimal("writer/codes-only", rich)));
}

}  // namespace
}  // namespace mlafuzz
