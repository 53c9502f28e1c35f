#include "properties/minimize/testing/minima.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corpus/values.h"

namespace mlafuzz {
namespace {

using Names = std::initializer_list<const char*>;

class Minima {
 public:
  void Add(const CaseSize& size, Names names) {
    for (const char* name : names) {
      minima_.push_back({absl::StrCat("mutant:", name), size});
    }
  }
  std::vector<KnownMinimum> Take() { return std::move(minima_); }

 private:
  std::vector<KnownMinimum> minima_;
};

void AddWriters(Minima& table) {
  // What is wrong in the bytes of a row is so in any row: one token for the one
  // slot of the smallest pool. So is a token that must be skipped, and is not.
  table.Add({.rows = 1}, {"amax-half-tile",
                          "amax-nan",
                          "amax-signed",
                          "amax-two-tiles",
                          "codes-byte-order",
                          "codes-clamped-at-240",
                          "codes-clamped-at-416",
                          "codes-e5m2",
                          "codes-flushed-inputs",
                          "codes-fnuz",
                          "codes-half-away",
                          "codes-inf-saturates",
                          "codes-last-dropped",
                          "codes-nan-saturates",
                          "codes-no-subnormals",
                          "codes-positive-zero",
                          "codes-reciprocal",
                          "codes-signed-nan",
                          "codes-through-fp16",
                          "codes-tiles-swapped",
                          "codes-toward-zero",
                          "dsv4-exponent-cut-off",
                          "dsv4-floor-on-scale",
                          "dsv4-minus-one-only",
                          "dsv4-nan-kept",
                          "dsv4-publishes-rounded",
                          "dsv4_1-nan-ignored",
                          "fp16-bit-amax",
                          "indexer-floor-on-scale",
                          "indexer-fp16-bit-amax",
                          "indexer-minus-one-only",
                          "indexer-ue8m0-no-floor",
                          "kimi-amax-first-half",
                          "kimi-amax-two-tiles",
                          "kimi-halves-apart",
                          "kimi-payload-fallthrough",
                          "nope-stale-tail",
                          "payload-fallthrough",
                          "rope-deinterleaved",
                          "rope-last-dropped",
                          "rope-over-scales",
                          "rope-overlapping-stores",
                          "rope-pairs-swapped",
                          "rope-quiets-nans",
                          "rope-to-bf16",
                          "scale-240",
                          "scale-bf16",
                          "scale-byte-order",
                          "scale-divides-by-rounded",
                          "scale-floor-on-amax",
                          "scale-high-floor",
                          "scale-last-dropped",
                          "scale-no-floor",
                          "scale-of-next-tile",
                          "scale-pow2",
                          "scale-published-rounded",
                          "scale-reciprocal",
                          "scale-stored-narrow",
                          "slot-0-skipped",
                          "slot-none-skipped",
                          "slot-padding-in-0",
                          "slot-page-minus-one",
                          "tail-half-cleared",
                          "triton-amax-half-tile",
                          "triton-divides",
                          "triton-fp32-rope-cut-off",
                          "triton-fp32-through-bf16",
                          "triton-high-floor",
                          "triton-minus-one-only",
                          "writer-clears-gap",
                          "writer-constant",
                          "writer-negative-slot",
                          "writer-past-row",
                          "writer-scribbles-on-input",
                          "writer-source-off-by-one",
                          "writer-takes-missing-rows",
                          "writer-zeroes-constants"});
  // Host checks see shapes; no token is needed. A launch of no blocks is one of
  // no tokens, a block more than there are tokens writes without any.
  table.Add({.rows = 0}, {"writer-empty-grid", "writer-grid-from-source",
                          "writer-takes-any-alignment",
                          "writer-takes-any-dtype", "writer-takes-any-latent",
                          "writer-takes-any-rope", "writer-takes-any-row"});
  // Two pages overlap, one does not.
  table.Add({.rows = 0, .slots = 2}, {"writer-takes-overlap"});
  // A wrong stride times 0 is right: slot 1. Of rows it takes a page of two.
  table.Add({.rows = 1, .slots = 2},
            {"indexer-dense-pages", "writer-page-stride-from-shape",
             "writer-pages-of-64"});
  table.Add({.rows = 1, .slots = 2, .page_size = 2},
            {"indexer-scales-inline", "writer-row-stride-from-shape"});
  // Slots times 656 bytes in 16 bits: wrong from slot 100 on.
  table.Add({.rows = 1, .slots = 101}, {"writer-narrow-product"});
  // A footer that begins behind 64 rows begins too late from 65 on.
  table.Add({.rows = 1, .slots = 65, .page_size = 65},
            {"indexer-entries-behind-64"});
  // Of two tokens the second is read from the wrong place, the first may be
  // skipped. Two for one slot race.
  table.Add(
      {.rows = 2},
      {"dsv4_1-rows-race", "k-pe-stride-from-shape", "kv-c-stride-from-shape",
       "writer-first-token-for-all", "writer-refuses-strides"});
  // Rows are missing only beside one that is there.
  table.Add({.rows = 2, .slots = 2}, {"writer-last-token-dropped"});
  table.Add({.rows = 65, .slots = 2}, {"writer-grid-of-64"});
  table.Add({.rows = 65}, {"writer-refuses-many"});
}

void AddGathers(Minima& table) {
  // What is wrong in the values of a row is so in any row: one request for the
  // one slot there is.
  table.Add({.rows = 1, .requests = 1, .columns = 1},
            {"dsv4-first-tile-for-all",
             "dsv4-last-is-inf",
             "dsv4-tiles-of-128",
             "dsv4-zero-is-zero",
             "gather-bf16-scale",
             "gather-e5m2",
             "gather-first-scale",
             "gather-fnuz",
             "gather-ignores-lengths",
             "gather-last-bytes-dropped",
             "gather-last-chunk-dropped",
             "gather-marks-pool",
             "gather-nan-pattern",
             "gather-nan-saturates",
             "gather-never-rope",
             "gather-next-tiles-scale",
             "gather-no-subnormals",
             "gather-pow2-scale",
             "gather-raw-codes",
             "gather-rotated-scales",
             "gather-scale-byte-order",
             "gather-stale-tail",
             "gather-tail-as-codes",
             "gather-tail-too-early",
             "gather-tail-untouched",
             "gather-task-unpublished",
             "gather-tiles-swapped",
             "gather-truncates",
             "gather-twice-rounded",
             "gather-unit-scale",
             "gather-zeros",
             "missing-syncwarp"});
  // Of the gathers without tile scales: any row; one that is not the first of
  // its page, and one whose footer is not where its row ends.
  table.Add({.rows = 1, .requests = 1, .columns = 1}, {"one-scale-dropped"});
  table.Add(
      {.rows = 1, .requests = 1, .columns = 1, .slots = 2, .page_size = 2},
      {"byte-gather-at-pitch", "byte-gather-dense-rows"});
  table.Add({.rows = 0}, {"one-scale-takes-656"});
  // Host checks see shapes; two rows of the result overlap, one does not.
  table.Add({.rows = 0}, {"gather-takes-any-alignment",
                          "gather-takes-any-dtype", "gather-takes-any-row"});
  table.Add({.rows = 2}, {"gather-takes-overlap"});
  table.Add({.rows = 0, .requests = 1},
            {"gather-refuses-lengths", "gather-takes-fewest"});
  // 1 and 2 are powers of two.
  table.Add({.rows = 0, .slots = 3, .page_size = 3},
            {"gather-refuses-page-sizes"});
  // A row that is nobody's, of a request that has none.
  table.Add({.rows = 1, .requests = 1}, {"gather-waits-for-empty"});
  // A wrong stride times 0 is right: page 1, row 1 of a page, row 1 of the
  // result. A first token that is lost is not the first of its page.
  table.Add({.rows = 1, .requests = 1, .columns = 1, .slots = 2},
            {"gather-page-stride-from-shape"});
  table.Add(
      {.rows = 1, .requests = 1, .columns = 1, .slots = 2, .page_size = 2},
      {"gather-page-start", "gather-row-off-by-one",
       "gather-row-stride-from-shape", "gather-whole-pages"});
  table.Add({.rows = 2, .requests = 1, .columns = 1},
            {"dst-stride-from-shape"});
  table.Add({.rows = 1, .requests = 1, .columns = 1, .slots = 101},
            {"gather-narrow-product"});
  // Two rows on two pages are two blocks; a row alone has one either way.
  table.Add(
      {.rows = 2, .requests = 1, .columns = 2, .slots = 2, .page_size = 2},
      {"gather-drops-pages"});
  // Row 1 of the table, read as row 0 or from elsewhere, names another slot.
  table.Add({.rows = 1, .requests = 2, .columns = 1, .slots = 2},
            {"gather-first-table-row", "table-row-from-shape"});
  // The second of two requests.
  table.Add({.rows = 2, .requests = 2, .columns = 1},
            {"gather-boundary-task", "gather-last-request-dropped"});
  table.Add({.rows = 1, .requests = 2, .columns = 1},
            {"gather-right-alone", "gather-starts-unclamped"});
}

void AddConverts(Minima& table) {
  // An entry without a token, or past a table without columns, is invalid.
  table.Add({.rows = 1, .requests = 1, .width = 1},
            {"index-counts-non-negative", "index-no-counts", "index-untouched",
             "index-zero-for-invalid"});
  // A token that is valid takes a column. Past 64 times one column, and yet in
  // the first page, is token 1 of pages of one row.
  table.Add(
      {.rows = 1, .requests = 1, .columns = 1, .width = 1},
      {"index-pages-of-64", "index-token-0-invalid", "index-whole-eights"});
  // The second row of a page: its offset is lost, or rounds up.
  table.Add({.rows = 1,
             .requests = 1,
             .columns = 1,
             .width = 1,
             .slots = 2,
             .page_size = 2},
            {"index-page-start", "index-rounds-up"});
  // The second row of indices.
  table.Add({.rows = 2, .requests = 1, .width = 1},
            {"index-last-row-dropped", "index-out-stride-from-shape"});
  table.Add({.rows = 2, .requests = 1, .columns = 1, .width = 1},
            {"index-tokens-stride-from-shape"});
  // One that is invalid in front of one that is not.
  table.Add({.rows = 1, .requests = 1, .columns = 1, .width = 2},
            {"index-compacts"});
  // Past a warp, and past 128 entries.
  table.Add({.rows = 1, .requests = 1, .width = 33},
            {"index-counts-unpublished"});
  // Without a column nothing but -1 is expected: a rule for what is invalid.
  table.Add({.rows = 1, .requests = 1, .columns = 1, .width = 129},
            {"index-width-of-128"});
  table.Add({.rows = 1, .requests = 2, .columns = 1, .width = 1},
            {"index-first-table-row"});
  // A token of a prefill whose start is not 0, or is not a slot.
  table.Add({.rows = 1, .requests = 1, .columns = 1, .width = 1},
            {"workspace-start-dropped", "workspace-by-table",
             "workspace-start-of-row"});
  // Alone it is as if all rows went by the table: beside one of another request
  // that does not. Not among them: workspace-slot-wraps-twice, which takes a
  // product that is negative beside one that is not; how few columns have both
  // nobody has shown.
  table.Add({.rows = 2, .requests = 1, .columns = 1, .width = 1},
            {"workspace-first-is-decode"});
  // The last of two columns; the only one would be all that there is.
  table.Add({.rows = 1, .requests = 1, .columns = 2, .width = 1},
            {"index-one-column-less"});
}

void AddDecodes(Minima& table) {
  // A row without keys: its output, its LSE, its sink. Not among them:
  // empty-split-unwritten, which shows what its scratch held before.
  table.Add(
      {.rows = 1, .width = 1, .heads = 1},
      {"all-masked-unit-weight", "empty-row-lse-unwritten",
       "empty-row-plus-inf", "leading-block-nan", "lse-natural-of-one-split",
       "lse-of-one-split-unwritten", "lse-wrong-base", "merge-of-empty-nan",
       "minus-one-alone-masked", "sink-not-in-lse"});
  // What is wrong in reading a row, in its product or in its weight beside a
  // sink, is so of one key.
  table.Add({.rows = 1, .width = 1, .heads = 1, .keys = 1},
            {"both-pow2-scale",        "code-nan-as-480",
             "qk-last-tile-dropped",   "code-subnormal-as-normal",
             "lse-without-max",        "out-toward-zero",
             "qk-pow2-scale",          "qk-scale-skipped",
             "rope-dropped",           "rope-first-half",
             "rope-halves-swapped",    "scale-pow2-ceil",
             "scale-through-bf16",     "sink-dropped",
             "sink-in-base-2",         "tail-read-as-rope",
             "v-last-columns-skipped", "v-pow2-scale",
             "v-scale-of-first-tile",  "v-scale-skipped"});
  // Lane 1 lies past a declared top-k of 1, and behind a masked lane 0.
  table.Add({.rows = 1, .width = 2, .heads = 1},
            {"capacity-from-topk-refuses"});
  table.Add({.rows = 1, .width = 2, .heads = 1, .keys = 1},
            {"capacity-from-topk-clips", "first-masked-ends-row",
             // A masked lane beside the key takes its share of the output.
             "masked-score-zero"});
  // One lane more than the length, and one more than that: else it may be that
  // the length is ignored.
  table.Add({.rows = 1, .width = 2, .heads = 1, .keys = 2},
            {"length-inclusive"});
  // Slot 0 is read for a masked lane, and is not the key.
  table.Add({.rows = 1, .width = 2, .heads = 1, .keys = 1, .slots = 2},
            {"masked-lane-reads-slot0"});
  // The weight of a key alone is 1, whatever its score: two that differ.
  table.Add(
      {.rows = 1, .width = 2, .heads = 1, .keys = 2, .slots = 2},
      {"dequant-unrounded", "log2e-twice", "qk-scale-tiles-swapped",
       "query-through-e4m3", "softmax-in-base-2", "softmax-scale-twice",
       "sum-of-rounded-weights", "weights-in-e4m3", "weights-toward-zero"});
  // The second block of 64 lanes, and the second split, begin at lane 64.
  table.Add({.rows = 1, .width = 65, .heads = 1}, {"sink-in-every-split"});
  table.Add({.rows = 1, .width = 65, .heads = 1, .keys = 1},
            {"e4m3-zero-sum-unguarded", "empty-split-weighs-one",
             "idle-warp-skips-barrier", "length-ignored-past-64-lanes",
             "part-block-dropped", "split-partial-dropped"});
  // The first block's maximum is raised by the second's.
  table.Add({.rows = 1, .width = 65, .heads = 1, .keys = 2, .slots = 2},
            {"last-block-not-rescaled", "missing-rescale", "sum-not-rescaled"});
  // The second head, or what lies behind the first.
  table.Add({.rows = 1, .width = 1, .heads = 2}, {"sink-of-first-head"});
  table.Add({.rows = 1, .width = 1, .heads = 2, .keys = 1},
            {"tail-meets-storage"});
  table.Add({.rows = 1, .width = 2, .heads = 2, .keys = 2, .slots = 2},
            {"query-of-first-head"});
  // The second query: its indices, its length.
  table.Add({.rows = 2, .width = 1, .heads = 1}, {"index-rows-dense"});
  table.Add({.rows = 2, .width = 1, .heads = 1, .keys = 2, .slots = 2},
            {"index-row-of-first-query"});
  table.Add({.rows = 2, .width = 1, .heads = 1, .keys = 2},
            {"length-ignored-from-2-queries"});
  table.Add({.rows = 65, .width = 1, .heads = 1, .keys = 65},
            {"length-ignored-above-64"});
  // A wrong stride times 0 is right: page 1, row 1, the slot behind; slot 64
  // of pages of 64; slots times 656 bytes in 16 bits.
  table.Add({.rows = 1, .width = 1, .heads = 1, .keys = 1, .slots = 2},
            {"page-stride-dense", "slot-off-by-one"});
  table.Add({.rows = 1,
             .width = 1,
             .heads = 1,
             .keys = 1,
             .slots = 2,
             .page_size = 2},
            {"row-stride-dense"});
  table.Add({.rows = 1, .width = 1, .heads = 1, .keys = 1, .slots = 65},
            {"pages-of-64"});
  table.Add({.rows = 1, .width = 1, .heads = 1, .keys = 1, .slots = 101},
            {"row-offset-wraps"});
}

}  // namespace

CaseSize SizeOf(const Case& c) {
  CaseSize size;
  size.steps = static_cast<std::uint64_t>(c.steps_size());
  size.page_size = c.pool().page_size();
  size.slots = size.page_size * c.pool().pages();
  if (c.steps_size() != 1) return size;
  const Step& step = c.steps(0);
  if (step.has_write()) {
    const Integers& slots = step.write().slots();
    size.rows = std::max<std::uint64_t>(slots.count(), slots.values_size());
  } else if (step.has_gather()) {
    size.rows = step.gather().dst_rows();
    size.requests = step.gather().block_table().rows();
    size.columns = step.gather().block_table().columns();
  } else if (step.has_convert()) {
    size.rows = step.convert().token_indices().rows();
    size.width = step.convert().token_indices().width();
    size.requests = step.convert().block_table().rows();
    size.columns = step.convert().block_table().columns();
  } else if (step.has_decode()) {
    const Indices& indices = step.decode().indices();
    size.rows = step.decode().queries();
    size.width = indices.width();
    size.heads = step.decode().heads();
    for (const std::int32_t index : ExpandIndices(indices)) {
      size.keys += index >= 0;
    }
  }
  return size;
}

std::string SizeText(const CaseSize& size) {
  return absl::StrCat(size.steps, " steps, ", size.rows, " rows, ",
                      size.requests, " requests, ", size.columns, " columns, ",
                      size.width, " wide, ", size.heads, " heads, ", size.keys,
                      " keys, ", size.slots, " slots in pages of ",
                      size.page_size);
}

const std::vector<KnownMinimum>& KnownMinima() {
  static const auto& minima = *new std::vector<KnownMinimum>([] {
    Minima table;
    AddWriters(table);
    AddGathers(table);
    AddConverts(table);
    AddDecodes(table);
    return table.Take();
  }());
  return minima;
}

}  // namespace mlafuzz
