#include "oracle/decode/faults.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "oracle/decode/dequant.h"
#include "oracle/decode/keys.h"
#include "oracle/decode/scores.h"

namespace mlafuzz::oracle {
namespace {

// The most splits of any query.
struct Splits {
  int all = 0;
  int with_keys = 0;
  bool any_empty = false;
  bool any_without_keys = false;  // of queries
};

Splits CountSplits(const Contract& contract, const CaseImage& image,
                   const StepImage& step) {
  Splits most;
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  for (std::int64_t query = 0; query < queries; ++query) {
    const KeyPlan plan = PlanKeys(contract, image.pool, step, query, {});
    int with_keys = 0;
    for (const KeyPlan::Split& split : plan.splits) {
      const bool empty = split.keys.first == split.keys.end;
      with_keys += empty ? 0 : 1;
      most.any_empty |= empty;
    }
    most.any_without_keys |= plan.keys.empty();
    most.all = std::max(most.all, static_cast<int>(plan.splits.size()));
    most.with_keys = std::max(most.with_keys, with_keys);
  }
  return most;
}

// Of candidates: those that are dropped, and rows of indices, lengths, queries
// and sinks that are taken for others.
void AddOfTensors(const Contract& contract, const CaseImage& image,
                  const StepImage& step, std::vector<DecodeFault>* faults) {
  const Tensor& indices = *step.Find(TensorId::kIndices);
  const Tensor& q = *step.Find(TensorId::kQ);
  const Tensor* lengths = step.Find(TensorId::kLengths);
  const Tensor* sinks = step.Find(TensorId::kSinks);
  const std::int64_t width = indices.shape[1];
  const std::int64_t block = contract.arithmetic().block();
  std::vector<std::int64_t> ends;
  if (block > 0 && width > block && width % block != 0) {
    ends.push_back(width - width % block);
  }
  for (const std::int64_t end : {64, 128, 256, 512, 1024, 2048}) {
    if (end < width && (ends.empty() || ends[0] != end)) ends.push_back(end);
  }
  for (const std::int64_t end : ends) {
    ExpectOptions options;
    options.lanes = end;
    faults->push_back(
        {kRowTruncated,
         absl::StrCat("candidates from lane ", end, " on are dropped"),
         options});
  }
  // Each split has as many blocks as the division leaves whole.
  const std::int64_t blocks = block > 0 ? (width + block - 1) / block : 0;
  const std::int64_t splits =
      std::min<std::int64_t>(step.step->decode().splits(), blocks);
  if (splits > 1 && blocks % splits != 0 &&
      step.Find(TensorId::kExtraIndices) == nullptr) {
    ExpectOptions options;
    options.lanes = blocks / splits * splits * block;
    faults->push_back({kUnevenDropped,
                       absl::StrCat("of ", blocks, " blocks in ", splits,
                                    " splits those that no split has a whole "
                                    "share of are left out"),
                       options});
  }
  if (q.shape[0] > 1) {
    ExpectOptions options;
    options.first_indices = true;
    faults->push_back({kIndicesOfFirst,
                       "the first query's index row is taken for every query",
                       options});
    options.first_query = options.first_length = true;
    faults->push_back({kFirstQueryForAll,
                       "every query gets the first one's result", options});
  }
  if (q.shape[0] > 1 && lengths != nullptr) {
    ExpectOptions options;
    options.first_length = true;
    faults->push_back({kLengthOfFirst,
                       "the first query's length is taken for every query",
                       options});
  }
  if (q.shape[1] > 1 && sinks != nullptr) {
    ExpectOptions options;
    options.first_sink = true;
    faults->push_back({kSinkOfFirst,
                       "the first head's sink is taken for every head",
                       options});
  }
  if (indices.shape[0] > 1 && indices.strides[0] != width) {
    ExpectOptions options;
    options.dense_indices = true;
    faults->push_back({kIndexRowsDense,
                       absl::StrCat("index rows are looked for ", width,
                                    " entries apart, not ", indices.strides[0]),
                       options});
  }
  ExpectOptions options;
  options.reads_past_length = true;
  for (std::int64_t n = 0; n < q.shape[0]; ++n) {
    if (PlanKeys(contract, image.pool, step, n, options)
            .read_past_length.empty()) {
      continue;
    }
    faults->push_back({kReadPastLength,
                       "rows that lanes past the length name are read, and "
                       "weigh 0",
                       options,
                       /*leaves_nan=*/true});
    break;
  }
}

// Of where a row ends. Those of masks need a key behind a masked lane.
void AddOfLengths(const Contract& contract, const CaseImage& image,
                  const StepImage& step, std::vector<DecodeFault>* faults) {
  bool key_behind_mask = false;
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  for (std::int64_t n = 0; n < queries; ++n) {
    const std::vector<Key> keys =
        PlanKeys(contract, image.pool, step, n, {}).keys;
    key_behind_mask |=
        !keys.empty() &&
        keys.back().lane >= static_cast<std::int64_t>(keys.size());
  }
  ExpectOptions options;
  if (key_behind_mask) {
    options.length = ExpectOptions::Length::kFirstMasked;
    faults->push_back({kEndsAtFirstMasked,
                       "a row is taken to end at its first masked lane",
                       options});
    options.length = ExpectOptions::Length::kNumberOfKeys;
    faults->push_back({kCountForLength,
                       "the number of a row's keys is taken for its length",
                       options});
  }
  if (step.Find(TensorId::kLengths) != nullptr) {
    options.length = ExpectOptions::Length::kOneMore;
    faults->push_back(
        {kLengthOffByOne, "one lane past the length counts", options});
    options.length = ExpectOptions::Length::kZeroIsNone;
    faults->push_back(
        {kZeroLength, "a length of 0 is taken for no length", options});
    options.length = ExpectOptions::Length::kGiven;
    // Of one request that is the first query's for all, and named beside it:
    // several tell them apart.
    if (QueryLength(step) > 1) {
      options.length_of_request = true;
      faults->push_back(
          {kLengthOfRequest,
           "the length of each request, not of each query, is looked up",
           options});
    }
  }
}

// Whether a page has something behind all its rows.
bool HasFooter(const PoolImage& pool) {
  const RowLayout& layout = LayoutOf(pool.layout);
  return layout.row_part != layout.row_bytes;
}

// Of the pool's geometry.
void AddOfPool(const PoolImage& pool, std::vector<DecodeFault>* faults) {
  const std::int64_t dense =
      pool.page_size * (HasFooter(pool) ? pool.row_bytes : pool.row_stride);
  if (pool.pages > 1 && pool.page_stride != dense) {
    ExpectOptions options;
    options.page_stride = dense;
    faults->push_back({kPageStrideDense,
                       absl::StrCat("pages are looked for ", dense,
                                    " bytes apart, not ", pool.page_stride),
                       options});
  }
  if (pool.page_size > 1 && !HasFooter(pool) &&
      pool.row_stride != pool.row_bytes) {
    ExpectOptions options;
    options.row_stride = pool.row_bytes;
    faults->push_back({kRowStrideDense,
                       absl::StrCat("rows are looked for ", pool.row_bytes,
                                    " bytes apart, not ", pool.row_stride),
                       options});
  }
  for (const std::int64_t size : {std::int64_t{64}, pool.page_size + 1}) {
    // One more row than an odd number of them: it was rounded up.
    if (size == pool.page_size || (size != 64 && size % 2 != 0)) continue;
    ExpectOptions options;
    options.page_size = size;
    faults->push_back({kPageSize,
                       absl::StrCat("slots are cut into pages of ", size,
                                    " rows, not ", pool.page_size),
                       options});
  }
}

// Of how queries and heads follow each other.
void AddOfOrder(const StepImage& step, std::vector<DecodeFault>* faults) {
  const Tensor& q = *step.Find(TensorId::kQ);
  const std::int64_t queries = q.shape[0], heads = q.shape[1];
  const std::int64_t length = QueryLength(step);
  ExpectOptions options;
  if (length > 1 && queries > 1) {
    options.first_position = true;
    faults->push_back({kFirstPosition,
                       "the first query of a request is taken for all of it",
                       options});
    options.first_position = false;
  }
  if ((heads > 1 && q.strides[1] != q.shape[2]) ||
      (queries > 1 && q.strides[0] != heads * q.shape[2])) {
    options.dense_query = true;
    faults->push_back(
        {kQueryDense,
         absl::StrCat("heads and queries of q are looked for ", q.shape[2],
                      " and ", heads * q.shape[2], " elements apart, not ",
                      q.strides[1], " and ", q.strides[0]),
         options});
    options.dense_query = false;
  }
  if (queries < 2 || heads < 2) return;
  using Order = ExpectOptions::Order;
  for (const auto& [order, name] :
       {std::pair(Order::kHeadsFirst, "[heads, queries]"),
        std::pair(Order::kHeadsFirstInRequest,
                  "[requests, heads, query length]")}) {
    if (order == Order::kHeadsFirstInRequest &&
        (length < 2 || length == queries || queries % length != 0)) {
      continue;  // one of the other orders, or none
    }
    options.out_order = order;
    options.lse_order = Order::kOwn;
    faults->push_back({kOutOrder,
                       absl::StrCat("the output is left in the order ", name),
                       options});
    options.out_order = Order::kOwn;
    options.lse_order = order;
    faults->push_back({kLseOrder,
                       absl::StrCat("the LSE is left in the order ", name),
                       options});
  }
}

void AddOfQuery(const RowLayout& layout, const StepImage& step,
                std::vector<DecodeFault>* faults) {
  using Part = ExpectOptions::Query;
  const ValueTiles tiles = TilesOf(layout);
  ExpectOptions options;
  for (int tile = 0; tile < tiles.scaled; ++tile) {
    options.no_tile = tile;
    faults->push_back(
        {kTileSkipped,
         absl::StrCat("tile ", tile, " is left out of the logits"), options});
  }
  options.no_tile = -1;
  const bool among = tiles.rope_at() < kLatent;
  if (!among && step.Find(TensorId::kQ)->shape[2] == kDecodeColumns) return;
  for (const auto& [part, key, cause] :
       {std::tuple(Part::kNoRope, kRopeDropped,
                   "the rope is left out of the logits"),
        std::tuple(Part::kFirstHalfOfRope, kRopeFirstHalf,
                   "the second half of the rope is left out of the logits"),
        std::tuple(Part::kRopeHalvesSwapped, kRopeHalvesSwapped,
                   "the halves of the query's rope are swapped")}) {
    options.query = part;
    faults->push_back({key, cause, options});
  }
  options.query = Part::kAll;
  if (!among) return;
  for (const int tile : {0, tiles.scaled - 1}) {
    options.rope_scaled_by = tile;
    faults->push_back({kRopeScaled,
                       absl::StrCat("the rope is multiplied with the scale of "
                                    "tile ",
                                    tile),
                       options});
  }
}

// Of a page's footer.
void AddOfFooter(const PoolImage& pool, std::vector<DecodeFault>* faults) {
  if (!HasFooter(pool)) return;
  for (const int entries : {1, -1}) {
    ExpectOptions options;
    options.scale_entries = entries;
    faults->push_back(
        {kScalesOfNeighbour,
         absl::StrCat("the scales of the ", entries > 0 ? "next" : "previous",
                      " token of the page are taken"),
         options});
  }
}

// Rules of how a key's bytes are read that hold for the keys of one cache and
// not for those of the other.
void AddOfOneCache(const Contract& contract, std::vector<DecodeFault>* faults) {
  for (const Neighbour& n : Neighbours(contract, Kernel::kDecode)) {
    if (!absl::StartsWith(n.field, "qk.") && !absl::StartsWith(n.field, "v.") &&
        n.field != "decode.rope_values") {
      continue;
    }
    const auto other = std::make_shared<const Contract>(n.contract);
    for (const bool extra : {false, true}) {
      ExpectOptions options;
      options.keys_by[extra] = other;
      faults->push_back(
          {extra ? kExtraReadOtherwise : kFirstReadOtherwise,
           absl::StrCat("keys of the ", extra ? "second" : "first",
                        " cache alone are read as under ", n.field, " = ",
                        n.changed),
           options,
           /*leaves_nan=*/n.changed == Ue8m0Last_Name(LAST_IS_NAN)});
    }
  }
}

// Of a second cache that is taken to be like the first.
void AddOfExtra(const Contract& contract, const PoolImage& pool,
                const StepImage& step, std::vector<DecodeFault>* faults) {
  if (step.Find(TensorId::kExtraCache) == nullptr) return;
  const PoolImage& extra = step.extra;
  ExpectOptions options;
  if (extra.page_size != pool.page_size) {
    options.extra_page_size_of_first = true;
    faults->push_back(
        {kExtraPageSize,
         absl::StrCat("slots of the second cache are cut into "
                      "pages of ",
                      pool.page_size, " rows, not ", extra.page_size),
         options});
    options = {};
    if (HasFooter(pool)) {
      options.extra_footers_of_first = true;
      faults->push_back(
          {kExtraFooters,
           absl::StrCat("footers of the second cache are looked for behind ",
                        pool.page_size, " rows, not ", extra.page_size),
           options});
    }
    options = {};
    // With the page goes its stride.
    options.extra_page_size_of_first = true;
    options.extra_page_stride_of_first = true;
    faults->push_back(
        {kExtraPageSize,
         absl::StrCat("pages of the second cache are taken for "
                      "those of the first, of ",
                      pool.page_size, " rows, not ", extra.page_size),
         options});
    options = {};
  }
  if (extra.pages > 1 && extra.page_stride != pool.page_stride) {
    options.extra_page_stride_of_first = true;
    faults->push_back({kExtraPageStride,
                       absl::StrCat("pages of the second cache are looked for ",
                                    pool.page_stride, " bytes apart, not ",
                                    extra.page_stride),
                       options});
    options = {};
  }
  const std::int64_t width = step.Find(TensorId::kIndices)->shape[1];
  if (step.Find(TensorId::kExtraIndices)->shape[1] > width) {
    options.extra_width_of_first = true;
    faults->push_back(
        {kExtraWidth,
         absl::StrCat("rows of the second cache's indices are cut "
                      "at the first ones' width, ",
                      width),
         options});
    options = {};
  }
  options.extra_in_first = true;
  faults->push_back({kExtraInFirst,
                     "rows of the second cache are read in the first one",
                     options});
  AddOfOneCache(contract, faults);
}

}  // namespace

bool IsDecodeFault(absl::string_view key) {
  for (const char* fault :
       {kMissingRescale,     kSplitDropped,      kRowTruncated,
        kEndsAtFirstMasked,  kCountForLength,    kLengthOffByOne,
        kFirstQueryForAll,   kIndicesOfFirst,    kLengthOfFirst,
        kSinkOfFirst,        kFirstPosition,     kQueryDense,
        kOutOrder,           kLseOrder,          kIndexRowsDense,
        kPageStrideDense,    kRowStrideDense,    kPageSize,
        kReadPastLength,     kEmptyRowNan,       kEmptySplitNan,
        kTileSkipped,        kRopeDropped,       kRopeFirstHalf,
        kRopeHalvesSwapped,  kScalesOfNeighbour, kRopeScaled,
        kExtraPageSize,      kExtraPageStride,   kExtraInFirst,
        kExtraFooters,       kExtraWidth,        kExtraReadOtherwise,
        kFirstReadOtherwise, kEmptyRowSink,      kLengthOfRequest,
        kZeroLength,         kUnevenDropped}) {
    if (key == fault) return true;
  }
  return false;
}

std::vector<DecodeFault> DecodeFaults(const Contract& contract,
                                      const CaseImage& image, int step) {
  std::vector<DecodeFault> faults;
  if (!IsDecoded(LayoutOf(image.pool.layout))) return faults;
  ExpectOptions options;
  options.no_rescale = true;
  faults.push_back({kMissingRescale,
                    "earlier blocks are not rescaled when the running maximum "
                    "rises",
                    options});
  options.no_rescale = false;
  const Splits splits =
      CountSplits(contract, image, image.steps[static_cast<std::size_t>(step)]);
  for (const bool all : {false, true}) {
    options.empty_splits_count = all;
    const int number = all ? splits.all : splits.with_keys;
    for (int split = 0; number > 1 && split < number; ++split) {
      options.dropped_split = split;
      faults.push_back({kSplitDropped,
                        absl::StrCat("the merge leaves out split ", split),
                        options});
    }
    if (number > 1) {
      options.dropped_split = ExpectOptions::kLastSplit;
      faults.push_back(
          {kSplitDropped, "the merge leaves out the last split", options});
    }
    // The same splits again.
    if (!splits.any_empty) break;
  }
  if (splits.any_empty) {
    ExpectOptions nan;
    nan.empty_split_nan = true;
    faults.push_back({kEmptySplitNan, "a split without keys makes its row NaN",
                      nan,
                      /*leaves_nan=*/true});
  }
  if (splits.any_without_keys) {
    ExpectOptions nan;
    nan.empty_row_nan = true;
    faults.push_back({kEmptyRowNan, "a row without keys is NaN", nan,
                      /*leaves_nan=*/true});
    if (contract.decode().sink() == DecodeContract::SINK_IN_LSE &&
        image.steps[static_cast<std::size_t>(step)].Find(TensorId::kSinks) !=
            nullptr) {
      ExpectOptions without;
      without.empty_row_without_sink = true;
      faults.push_back({kEmptyRowSink,
                        "the LSE of a row without keys leaves out the sink",
                        without});
    }
  }
  const StepImage& call = image.steps[static_cast<std::size_t>(step)];
  AddOfTensors(contract, image, call, &faults);
  AddOfLengths(contract, image, call, &faults);
  AddOfOrder(call, &faults);
  AddOfPool(image.pool, &faults);
  AddOfFooter(image.pool, &faults);
  AddOfQuery(LayoutOf(image.pool.layout), call, &faults);
  AddOfExtra(contract, image.pool, call, &faults);
  return faults;
}

}  // namespace mlafuzz::oracle
