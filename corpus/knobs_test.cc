#include "corpus/knobs.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "corpus/codec.h"
#include "corpus/image.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::set<std::string> KnobsOf(const Case& c) {
  absl::StatusOr<CaseImage> image = BuildImage(c);
  EXPECT_TRUE(image.ok()) << image.status();
  std::set<std::string> names;
  if (!image.ok()) return names;
  const std::vector<int> numbers = ExercisedKnobs(*image);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  for (const int number : numbers) names.insert(AllKnobs()[number].name);
  return names;
}

std::set<std::string> KnobsOf(absl::string_view text) {
  absl::StatusOr<Case> c = ParseCaseText(text);
  EXPECT_TRUE(c.ok()) << c.status();
  return c.ok() ? KnobsOf(*c) : std::set<std::string>();
}

TEST(KnobsTest, NamesAreUniqueAndSpelledAlike) {
  std::set<std::string> names;
  for (const Knob& knob : AllKnobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    for (const char c : std::string(knob.name)) {
      EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '/')
          << knob.name;
    }
    EXPECT_NE(std::strchr(knob.name, '/'), nullptr) << knob.name;
  }
}

// What one case does, and nothing that it does not.
TEST(KnobsTest, SlotsAndPages) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool { page_size: 2 pages: 2 offset: 8 }
    steps {
      write {
        slots { values: [ 3, -1, -9223372036854775808, 2, 0 ] }
        kv_c { pattern: CONSTANT bits: 0x3f80 }
      }
    })pb");
  for (const char* name :
       {"writer/page-size-2", "writer/pool-slice", "slots/last", "slots/zero",
        "slots/minus-one", "slots/int64-min", "slots/below-int32",
        "slots/page-first", "slots/page-last", "slots/descending",
        "slots/skipped-between", "pe-dim/0", "writer/schedule-in-order"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  for (const char* name :
       {"writer/page-size-1", "slots/other-negative", "slots/all-skipped",
        "tokens/1", "pe-dim/64", "input/fp16", "tile/all-zero", "tile/nan",
        "writer/row-stride-padded", "writer/page-stride-padded",
        "tail/stale-before-nope-write", "refuse/pe-dim",
        "program/several-writes"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

TEST(KnobsTest, Decodes) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool {
      page_size: 2
      pages: 2
      fill { kind: FINITE_ROWS seed: 1 }
      patches { slot: 0 at: 3 data: "\x7f" }
    }
    steps {
      decode {
        queries: 2
        heads: 1
        q { set { at: 3 bits: 0x3f80 } }
        indices {
          rows: 2
          width: 65
          valid: 1
          limit: 0
          set { at: 0 value: -7 }
          set { at: 64 value: 3 }
          set { at: 65 value: 1 }
          set { at: 66 value: 2147483647 }
        }
        lengths: [ 66, 1 ]
        softmax_scale_bits: 0x3f800000
        sink_bits: 0xff800000
        splits: 2
        declared_topk: 64
      }
    })pb");
  for (const char* name : {"decode/page-size-2",
                           "decode/width-65",
                           "queries/several",
                           "heads/1",
                           "decode/pe-dim-0",
                           "decode/stale-tail-under-nope",
                           "mask/front",
                           "mask/middle",
                           "mask/other-negative",
                           "mask/leading-block",
                           "mask/few-keys-in-first-block",
                           "key/single",
                           "key/last-slot",
                           "length/given",
                           "length/above-width",
                           "length/hides-huge-index",
                           "sink/minus-inf",
                           "splits/several",
                           "splits/last-without-keys",
                           "topk/below-width",
                           "topk/keys-behind",
                           "query/one-hot",
                           "key/scale-fractions-differ",
                           "decode/poison-in-unread-slot-0"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  for (const char* name :
       {"mask/all", "mask/none", "mask/back", "key/slot-0", "key/code-nan",
        "key/repeated", "length/cuts-keys", "length/0", "sink/none",
        "splits/more-than-blocks", "query/zero", "query/dense",
        "decode/pe-dim-64", "refuse/decode-batch", "queries/length-above-1"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

struct TileCase {
  const char* kv_c;
  std::vector<const char*> has;
  std::vector<const char*> lacks;
};

TEST(KnobsTest, TilesAreReadFromTheirBits) {
  // The first tile of one bf16 token: constant 1.0 with a few values replaced.
  const std::vector<TileCase> cases = {
      {"", {"tile/all-zero"}, {"tile/subnormal", "tile/negative-zero"}},
      {"set { at: 5 bits: 0x8000 }",
       {"tile/all-zero", "tile/negative-zero"},
       {"tile/below-floor"}},
      {"set { at: 5 bits: 0x0001 }",
       {"tile/subnormal", "tile/below-floor"},
       {"tile/negative-zero"}},
      {"set { at: 0 bits: 0x7f80 }", {"tile/inf"}, {"tile/nan"}},
      {"set { at: 0 bits: 0xffc1 }",
       {"tile/nan"},
       {"tile/inf", "tile/all-nan"}},
      {"set { at: 0 bits: 0xff7f }", {"tile/largest-finite"}, {"tile/inf"}},
      {"set { at: 0 bits: 0x43e0 }",  // 448
       {"tile/scale-power-of-two"},
       {"tile/midpoint", "tile/scale-power-of-two-plus-step",
        "tile/scale-power-of-two-minus-step"}},
      {"set { at: 0 bits: 0x43e1 }",
       {"tile/scale-power-of-two-plus-step"},
       {"tile/scale-power-of-two"}},
      {"set { at: 0 bits: 0x43df }",
       {"tile/scale-power-of-two-minus-step"},
       {"tile/scale-power-of-two"}},
      {"set { at: 0 bits: 0x43e0 } set { at: 1 bits: 0x3f88 }",  // 1.0625
       {"tile/midpoint"},
       {"tile/midpoint-plus-step", "tile/midpoint-minus-step"}},
      {"set { at: 0 bits: 0x43e0 } set { at: 1 bits: 0xbf89 }",
       {"tile/midpoint-plus-step"},
       {"tile/midpoint", "tile/tiny-negative"}},
      {"set { at: 0 bits: 0x43e0 } set { at: 1 bits: 0x3f87 }",
       {"tile/midpoint-minus-step"},
       {"tile/midpoint"}},
      // 1 beside 2^-20.
      {"set { at: 0 bits: 0x3f80 } set { at: 1 bits: 0xb580 }",
       {"tile/tiny-negative", "tile/wide-spread", "tile/outlier"},
       {"tile/scale-power-of-two"}},
      {"set { at: 0 bits: 0x3f80 } set { at: 1 bits: 0x3f00 }",
       {},
       {"tile/outlier", "tile/wide-spread", "tile/tiny-negative"}},
      {"set { at: 3 bits: 0x04e0 }", {"tile/floor-edge"}, {"tile/below-floor"}},
      {"set { at: 3 bits: 0x04df }",
       {"tile/floor-edge", "tile/below-floor"},
       {}},
      {"set { at: 3 bits: 0x3d37 }", {"tile/scale-near-1e-4"}, {}},
  };
  for (const TileCase& t : cases) {
    const std::set<std::string> knobs =
        KnobsOf(std::string("pool { page_size: 1 pages: 1 } steps { write { "
                            "slots { values: 0 } kv_c { ") +
                t.kv_c + " } } }");
    for (const char* name : t.has) {
      EXPECT_EQ(knobs.count(name), 1) << t.kv_c << " lacks " << name;
    }
    for (const char* name : t.lacks) {
      EXPECT_EQ(knobs.count(name), 0) << t.kv_c << " has " << name;
    }
  }
}

TEST(KnobsTest, SkippedRowsAreNotLookedAt) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool { page_size: 1 pages: 1 }
    steps {
      write {
        slots { values: -1 }
        kv_c { pattern: CONSTANT bits: 0x7f80 }
      }
    })pb");
  EXPECT_EQ(knobs.count("slots/all-skipped"), 1);
  EXPECT_EQ(knobs.count("tile/inf"), 0);
}

TEST(KnobsTest, GatherTableAndRows) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool {
      page_size: 2
      pages: 3
      patches { slot: 5 at: 512 data: "\000\000\200\377" }  # -Inf
      patches { slot: 5 at: 7 data: "\177" }
      patches { slot: 5 at: 530 data: "\001" }
    }
    steps {
      gather {
        block_table {
          rows: 2
          columns: 3
          row_stride: 5
          pages { values: [ -1, 2, 2147483647, 1, 0, -7 ] }
        }
        workspace_starts: [ 1, 2 ]
        seq_starts: [ 3, 0 ]
        dst_rows: 5
        nope: true
      }
    })pb");
  for (const char* name : {"gather/page-size-2",
                           "gather/table-narrowed",
                           "gather/table-minus-one-unread",
                           "gather/table-huge-unread",
                           "gather/table-other-negative-unread",
                           "gather/seq-start-inside-page",
                           "gather/seq-start-last-row",
                           "gather/rows-before-first-start",
                           "gather/length-1",
                           "gather/length-page-plus-1",
                           "gather/nope",
                           "gather/stale-tail-under-nope",
                           "gather/table-not-ascending",
                           "gather/several-requests",
                           "gather/lengths-from-starts",
                           "scale/inf",
                           "scale/negative",
                           "scale/zero",
                           "scale/tiles-differ",
                           "code/nan",
                           "fill/mixed",
                           "fill/zeros"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  for (const char* name :
       {"gather/table-expanded", "gather/length-0", "gather/no-rows",
        "gather/lengths-given", "scale/nan", "code/negative-zero", "fill/0x7f",
        "program/write-then-gather"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

TEST(KnobsTest, ConvertIndices) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool { page_size: 16 pages: 3 }
    steps {
      convert {
        request_ids { values: [ 0, 0 ] }
        token_indices {
          rows: 2
          width: 4
          set { at: 0 value: -1 }
          set { at: 1 value: 32 }
          set { at: 2 value: 31 }
          set { at: 3 value: 2147483647 }
          set { at: 4 value: -1 }
          set { at: 5 value: -1 }
          set { at: 6 value: -1 }
          set { at: 7 value: -1 }
        }
        block_table {
          rows: 1
          columns: 2
          pages { values: [ -1, 2 ] }
        }
        valid_count: true
      }
    })pb");
  for (const char* name :
       {"convert/page-size-16", "convert/one-table-row-several-ids",
        "convert/column-just-past", "convert/column-last",
        "index/minus-one-front", "index/minus-one-all", "index/huge-positive",
        "index/page-last", "valid-count/0", "valid-count/1",
        "valid-count/wanted", "convert/table-minus-one-unread",
        "convert/request-repeated"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  for (const char* name :
       {"index/other-negative", "index/zero", "valid-count/width",
        "convert/out-strided", "convert/requests-unordered"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

// Two rows of a padded batch, one of them real: scales of every odd kind, a
// tile of zeros, a tile of one code, odd rope.
TEST(KnobsTest, DecodeRows) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool {
      page_size: 3
      pages: 1
      fill { kind: FINITE_ROWS seed: 1 }
      patches { slot: 0 at: 512 data: "\000\000\000\200" }
      patches { slot: 0 at: 516 data: "\001\000\000\000" }
      patches { slot: 0 at: 520 data: "\000\000\200\177" }
      patches { slot: 0 at: 524 data: "\000\000\300\177" }
      patches { slot: 1 at: 512 data: "\001\000\200\077" }
      patches { slot: 1 at: 516 data: "\000\000\200\065" }
      patches { slot: 1 at: 528 data: "\001\000\200\177" }
      patches { slot: 2 at: 512 data: "\000\000\200\200" }
    }
    steps {
      decode {
        queries: 3
        heads: 65
        pe_dim: 64
        indices {
          rows: 3
          width: 4
          set { at: 0 value: 0 }
          set { at: 1 value: 1 }
          set { at: 2 value: -1 }
          set { at: 3 value: 2 }
          set { at: 4 value: -1 }
          set { at: 8 value: -1 }
        }
        lengths: [ 3, -1, 1 ]
        softmax_scale_bits: 0x3f800000
        splits: 16
      }
    }
    steps { decode {} })pb");
  for (const char* name :
       {"heads/65", "queries/one-real-of-several", "length/page",
        "length/negative", "length/1", "length/cuts-keys-behind-pads",
        "splits/16", "key/power-of-two-count", "key/scale-zero",
        "key/scale-subnormal", "key/scale-inf", "key/scale-nan",
        "key/scale-spread-18-octaves", "key/scale-beside-power-of-two",
        "key/rope-subnormal", "key/rope-not-finite", "key/code-subnormal",
        "key/code-negative-zero", "program/several-decodes"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  // Row 2 lies past every length.
  for (const char* name :
       {"key/scale-flt-min", "key/scale-negative", "key/tile-zeros",
        "key/tile-one-code", "key/all-but-one", "queries/2", "heads/64",
        "decode/pool-zeros", "length/page-minus-1", "length/64",
        "decode/width-128", "splits/8"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

// Two caches of DeepSeek-V4's pages: 64 scale bytes from 576 * page_size on.
TEST(KnobsTest, DecodeOfPagesWithAFooter) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool {
      layout: DSV4_FOOTER_584
      page_size: 2
      pages: 2
      fill { kind: BYTE byte: 0 }
      patches { slot: 1 at: 576 data: "\x00\x7f\x7f\x7f\x7f\x7f\x7f" }
      patches { slot: 1 at: 448 data: "\x01\x00\x80\x7f" }
      patches { slot: 3 at: 576 data: "\xff\xff\xff\xff\xff\xff\xff" }
    }
    steps {
      decode {
        queries: 1
        heads: 2
        q { pattern: CONSTANT bits: 0x3f80 }
        indices {
          rows: 1
          width: 3
          pad: MINUS_ONE
          set { at: 0 value: 1 }
        }
        lengths: 2
        softmax_scale_bits: 0x3d2aaaab
        extra {
          pool { page_size: 3 pages: 2 page_stride: 2880 }
          indices {
            rows: 1
            width: 3
            pad: MINUS_ONE
            set { at: 0 value: 2 }
            set { at: 2 value: 5 }
          }
          lengths: 3
        }
      }
    })pb");
  for (const char* name :
       {"decode/page-size-2", "key/scale-byte-0", "key/scale-bytes-differ",
        "key/rope-subnormal", "key/rope-not-finite", "key/tile-zeros",
        "decode/poison-in-unread-row", "extra/given", "extra/length-given",
        "extra/page-size-differs", "extra/page-stride-differs",
        "extra/page-stride-padded", "extra/masked-between-keys",
        "extra/slot-past-the-first-cache", "extra/length-not-the-first",
        "length/given", "heads/several"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
  for (const char* name :
       {"key/scale-byte-255", "key/scale-zero", "key/scale-hostile",
        "decode/pe-dim-0", "decode/stale-tail-under-nope",
        "decode/page-stride-padded", "decode/row-stride-padded", "extra/none",
        "extra/no-keys", "extra/no-keys-but-its", "extra/length-cuts-keys",
        "extra/length-none", "refuse/decode-row-bytes",
        "refuse/decode-alignment"}) {
    EXPECT_EQ(knobs.count(name), 0) << name;
  }
}

TEST(KnobsTest, ClassesGoByTheLayout) {
  int of_row656 = 0, of_indexer = 0;
  std::set<std::string> dsv4, row528;
  for (int i = 0; i < static_cast<int>(AllKnobs().size()); ++i) {
    of_row656 += KnobApplies(i, FP8_DS_MLA);
    of_indexer +=
        AllKnobs()[i].kernel == Kernel::kDecode && KnobApplies(i, INDEXER_132);
    if (KnobApplies(i, DSV4_FOOTER_584)) dsv4.insert(AllKnobs()[i].name);
    if (KnobApplies(i, NOPE_ROW_528)) row528.insert(AllKnobs()[i].name);
  }
  EXPECT_GT(of_row656, 200);
  EXPECT_EQ(of_indexer, 0);
  EXPECT_EQ(dsv4.count("extra/given") + dsv4.count("key/scale-byte-0") +
                dsv4.count("key/rope-subnormal"),
            3);
  EXPECT_EQ(dsv4.count("key/scale-zero") + dsv4.count("slots/zero") +
                dsv4.count("decode/row-stride-padded"),
            0);
  EXPECT_EQ(
      row528.count("key/scale-zero") + row528.count("decode/row-stride-padded"),
      2);
  EXPECT_EQ(row528.count("key/rope-subnormal") + row528.count("extra/none") +
                row528.count("decode/pe-dim-0"),
            0);
}

TEST(KnobsTest, DecodeOfAWideRow) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool {
      page_size: 128
      pages: 1
      patches { slot: 7 at: 129 data: "\176" }
    }
    steps {
      decode {
        queries: 1
        heads: 1
        indices {
          rows: 1
          width: 2176
          set { at: 2175 value: 7 }
        }
        softmax_scale_bits: 0x3f800000
      }
    })pb");
  for (const char* name : {"decode/page-size-128", "decode/width-2176",
                           "decode/pool-zeros", "key/single", "key/tile-zeros",
                           "key/tile-one-code", "key/scale-zero"}) {
    EXPECT_EQ(knobs.count(name), 1) << name;
  }
}

TEST(KnobsTest, RefusedStepsCountAsNothingElse) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool { page_size: 2 pages: 2 }
    steps {
      write {
        slots { values: 3 }
        pe_dim: 32
        kv_c { pattern: CONSTANT bits: 0x7f80 }
      }
    })pb");
  EXPECT_EQ(knobs, std::set<std::string>{"refuse/pe-dim"});
}

TEST(KnobsTest, Programs) {
  const std::set<std::string> knobs = KnobsOf(R"pb(
    pool { page_size: 2 pages: 2 }
    steps { write { slots { values: 3 } } }
    steps { write { slots { values: [ 0, 3 ] } } }
    steps {
      gather {
        block_table {
          rows: 1
          columns: 1
          pages { values: 1 }
        }
        workspace_starts: 0
        dst_rows: 2
      }
    })pb");
  EXPECT_EQ(knobs.count("program/slot-overwritten"), 1);
  EXPECT_EQ(knobs.count("program/several-writes"), 1);
  EXPECT_EQ(knobs.count("program/write-then-gather"), 1);
  EXPECT_EQ(knobs.count("program/several-gathers"), 0);
}

}  // namespace
}  // namespace mlafuzz
