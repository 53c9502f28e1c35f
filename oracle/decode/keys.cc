#include "oracle/decode/keys.h"

#include <algorithm>

#include "oracle/decode/scores.h"
#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// More blocks than any index row has keys worth splitting; a case that asks for
// billions of splits is met with as many as there are blocks that can differ.
std::vector<std::pair<std::int64_t, std::int64_t>> SplitBlocks(
    std::int64_t blocks, std::int64_t splits, std::int64_t blocks_per_split) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (splits > 0) {
    // Splits without a block leave no trace, so only those with one are listed.
    std::int64_t first = 0;
    for (std::int64_t i = 0; first < blocks;) {
      const std::int64_t end = (i + 1) * blocks / splits;
      if (end > first) {
        ranges.push_back({first, end});
        first = end;
        ++i;
      } else {
        // The next i whose range is not empty: (i + 1) * blocks >= (first + 1)
        // * splits.
        i = ((first + 1) * splits + blocks - 1) / blocks - 1;
      }
    }
  } else {
    for (std::int64_t at = 0; at < blocks; at += blocks_per_split) {
      ranges.push_back({at, std::min(blocks, at + blocks_per_split)});
    }
  }
  return ranges;
}

// How a reader looks for rows.
struct Geometry {
  std::int64_t page_size;
  std::int64_t page_stride;
  std::int64_t row_stride;
  std::int64_t footer_rows;  // in front of a page's footer
};

Geometry OfPool(const PoolImage& pool, const ExpectOptions& options) {
  const auto or_own = [](std::int64_t other, std::int64_t own) {
    return other == 0 ? own : other;
  };
  const std::int64_t page_size = or_own(options.page_size, pool.page_size);
  return {page_size, or_own(options.page_stride, pool.page_stride),
          or_own(options.row_stride, pool.row_stride), page_size};
}

Geometry OfExtra(const PoolImage& pool, const PoolImage& extra,
                 const ExpectOptions& options) {
  if (options.extra_in_first) return OfPool(pool, options);
  const std::int64_t page_size =
      options.extra_page_size_of_first ? pool.page_size : extra.page_size;
  return {
      page_size,
      options.extra_page_stride_of_first ? pool.page_stride : extra.page_stride,
      extra.row_stride,
      options.extra_footers_of_first ? pool.page_size : page_size};
}

// Where a reader looks for row `row` of page `page`, which may be any numbers.
TokenPlace PlaceBy(const PoolImage& pool, const Geometry& geometry,
                   std::int64_t page, std::int64_t row, int scale_entries) {
  const RowLayout& layout = LayoutOf(pool.layout);
  const std::int64_t begin = pool.offset + page * geometry.page_stride;
  TokenPlace place;
  place.row = begin + row * geometry.row_stride;
  place.behind =
      layout.row_part != layout.row_bytes
          ? begin + geometry.footer_rows * layout.row_part +
                (row + scale_entries) * (layout.row_bytes - layout.row_part)
          : place.row + layout.row_part;
  return place;
}

// Puts the key where a reader looks for its slot in a cache of `size` bytes.
void Place(const PoolImage& pool, const Geometry& geometry, std::int64_t size,
           int scale_entries, Key* key) {
  const TokenPlace place =
      PlaceBy(pool, geometry, key->slot / geometry.page_size,
              key->slot % geometry.page_size, scale_entries);
  key->at = Fits(LayoutOf(pool.layout), place, size) ? place.row : -1;
  key->behind = place.behind;
}

// Where readers look for a slot that is not in the cache.
void AddOutside(const PoolImage& pool, const Geometry& geometry,
                int scale_entries, const Key& key, KeyPlan* plan) {
  ++plan->outside;
  std::int64_t page = key.slot / geometry.page_size;
  std::int64_t row = key.slot % geometry.page_size;
  for (const bool floored : {false, true}) {
    if (plan->outside_at.size() >= KeyPlan::kMostOutside) return;
    if (floored) {
      if (row >= 0) return;  // the same
      --page;
      row += geometry.page_size;
    }
    plan->outside_at.push_back(
        {PlaceBy(pool, geometry, page, row, scale_entries), key.in_extra});
  }
}

// Lanes before a row's end as a reader takes it that is given `given` of them.
template <class Masked>
std::int64_t ActiveOf(ExpectOptions::Length rule, std::int64_t given,
                      std::int64_t width, const Masked& masked) {
  using Length = ExpectOptions::Length;
  std::int64_t keys = 0;
  switch (rule) {
    case Length::kGiven:
      return given;
    case Length::kOneMore:
      return std::min(given + 1, width);
    case Length::kZeroIsNone:
      return given == 0 ? width : given;
    case Length::kFirstMasked:
      while (keys < given && !masked(keys)) ++keys;
      return keys;
    case Length::kNumberOfKeys:
      for (std::int64_t lane = 0; lane < given; ++lane) {
        keys += masked(lane) ? 0 : 1;
      }
      return keys;
  }
  return given;
}

}  // namespace

std::int64_t DecodeWidth(const DecodeContract& contract,
                         const StepImage& step) {
  const Tensor* indices = step.Find(TensorId::kIndices);
  const std::int64_t width = indices == nullptr ? 0 : indices->shape[1];
  const std::int64_t declared = step.step->decode().declared_topk();
  if (contract.capacity() == DecodeContract::DECLARED_TOPK_CLIPS &&
      declared > 0) {
    return std::min(width, declared);
  }
  return width;
}

bool MasksIndex(const DecodeContract& contract, std::int32_t index) {
  return contract.mask() == DecodeContract::MINUS_ONE_MASKED ? index == -1
                                                             : index < 0;
}

std::int64_t ActiveLanes(const DecodeContract& contract, const StepImage& step,
                         std::int64_t query) {
  const std::int64_t width = DecodeWidth(contract, step);
  const Storage<std::int32_t> lengths(step.Find(TensorId::kLengths));
  if (contract.length() != DecodeContract::LENGTH_MASKED ||
      !lengths.Has(query)) {
    return width;
  }
  return std::clamp<std::int64_t>(lengths[query], 0, width);
}

bool ReadsSlot0(const DecodeContract& contract) {
  return contract.masked_lanes() == DecodeContract::MASKED_READ_SLOT0 ||
         contract.empty_row() == DecodeContract::UNIT_WEIGHTS;
}

LeadingNan LeadingNanOf(const DecodeContract& contract, const KeyPlan& plan) {
  if (contract.leading_block() != DecodeContract::LEADING_BLOCK_NAN ||
      plan.masked == 0) {
    return LeadingNan::kNo;
  }
  if (plan.keys.empty()) return LeadingNan::kYes;
  if (!plan.known) return LeadingNan::kMaybe;
  for (const KeyPlan::Split& split : plan.splits) {
    if (!split.blocks.empty() && split.blocks[0].first == split.blocks[0].end) {
      return LeadingNan::kYes;
    }
  }
  return LeadingNan::kNo;
}

const Tensor* ExtraIndices(const DecodeContract& contract,
                           const StepImage& step) {
  return contract.extra() == DecodeContract::EXTRA_DROPPED
             ? nullptr
             : step.Find(TensorId::kExtraIndices);
}

std::int64_t ExtraActiveLanes(const DecodeContract& contract,
                              const StepImage& step, std::int64_t query) {
  const Tensor* indices = ExtraIndices(contract, step);
  if (indices == nullptr) return 0;
  const std::int64_t width = indices->shape[1];
  if (contract.extra_length() == DecodeContract::EXTRA_LENGTH_IGNORED) {
    return width;
  }
  const Storage<std::int32_t> lengths(
      step.Find(contract.extra_length() == DecodeContract::EXTRA_LENGTH_OF_FIRST
                    ? TensorId::kLengths
                    : TensorId::kExtraLengths));
  if (!lengths.Has(query)) return width;
  return std::clamp<std::int64_t>(lengths[query], 0, width);
}

Caches::Caches(const PoolImage& pool, absl::Span<const std::uint8_t> pool_bytes,
               const StepImage& step)
    : layout_(LayoutOf(pool.layout)),
      pool_(pool),
      extra_(step.extra),
      bytes_(pool_bytes) {
  if (const Tensor* cache = step.Find(TensorId::kExtraCache)) {
    extra_bytes_ = cache->bytes;
  }
}

const std::uint8_t* Caches::Token(const Key& key, TokenBytes* buffer) const {
  const std::uint8_t* bytes =
      key.in_extra ? extra_bytes_.data() : bytes_.data();
  if (layout_.row_part == layout_.row_bytes) return bytes + key.at;
  LoadToken(layout_, {key.at, key.behind}, bytes, buffer->data());
  return buffer->data();
}

Key Caches::Slot0(bool extra) const {
  Key key{.lane = 0, .slot = 0, .at = -1, .extra = extra, .in_extra = extra};
  const PoolImage& pool = extra ? extra_ : pool_;
  if (pool.slots() == 0) return key;
  Place(pool,
        {pool.page_size, pool.page_stride, pool.row_stride, pool.page_size},
        static_cast<std::int64_t>((extra ? extra_bytes_ : bytes_).size()), 0,
        &key);
  return key;
}

namespace {

// One index row of a query, and the cache whose slots it names.
struct IndexRow {
  const Tensor* indices = nullptr;
  std::int64_t width = 0;   // lanes that count at all
  std::int64_t active = 0;  // those before its length
  std::int64_t first_lane = 0;
  bool extra = false;
  const PoolImage* pool = nullptr;
  Geometry geometry = {};
  std::int64_t size = 0;  // bytes of the cache
  bool in_extra = false;
};

// Adds the keys of one row, and counts what is masked.
void AddKeys(const DecodeContract& rules, const IndexRow& row,
             std::int64_t query, const ExpectOptions& options, KeyPlan* plan) {
  const Tensor& indices = *row.indices;
  const std::int64_t begin =
      (options.first_indices ? 0 : query) *
      (options.dense_indices ? indices.shape[1] : indices.strides[0]);
  const Storage<std::int32_t> storage(&indices);
  const auto element = [&](std::int64_t lane) {
    return begin + lane * indices.strides[1];
  };
  const auto masked = [&](std::int64_t lane) {
    return !storage.Has(element(lane)) ||
           MasksIndex(rules, storage[element(lane)]);
  };
  const std::int64_t active = ActiveOf(
      options.length, std::min(row.width, row.active), row.width, masked);
  for (std::int64_t lane = 0; lane < row.width; ++lane) {
    Key key{.lane = row.first_lane + lane,
            .slot = 0,
            .at = -1,
            .extra = row.extra,
            .in_extra = row.in_extra};
    const auto place = [&] {
      key.slot = storage[element(lane)];
      if (key.slot >= 0 && key.slot < row.pool->slots()) {
        Place(*row.pool, row.geometry, row.size, options.scale_entries, &key);
      }
      if (key.at < 0) {
        AddOutside(*row.pool, row.geometry, options.scale_entries, key, plan);
      }
    };
    if (lane < active && !masked(lane)) {
      place();
      plan->keys.push_back(key);
      continue;
    }
    ++plan->masked;
    plan->masked_extra += row.extra ? 1 : 0;
    if (options.reads_past_length && lane >= active &&
        storage.Has(element(lane)) && storage[element(lane)] >= 0) {
      place();
      plan->read_past_length.push_back(key);
    }
  }
}

}  // namespace

KeyPlan PlanKeys(const Contract& contract, const PoolImage& pool,
                 const StepImage& step, std::int64_t query,
                 const ExpectOptions& options) {
  KeyPlan plan;
  const DecodeContract& rules = contract.decode();
  const std::int64_t block = contract.arithmetic().block();
  const std::int64_t length_of = options.first_length ? 0
                                 : options.length_of_request
                                     ? query / QueryLength(step)
                                     : query;
  IndexRow first{.indices = step.Find(TensorId::kIndices),
                 .pool = &pool,
                 .geometry = OfPool(pool, options),
                 .size = static_cast<std::int64_t>(pool.bytes.size())};
  first.width = options.lanes < 0
                    ? DecodeWidth(rules, step)
                    : std::min(DecodeWidth(rules, step), options.lanes);
  first.active = ActiveLanes(rules, step, length_of);
  AddKeys(rules, first, query, options, &plan);
  std::int64_t blocks = block > 0 ? (first.width + block - 1) / block : 0;
  const std::int64_t first_width = first.width;
  std::int64_t extra_width = 0;
  if (const Tensor* indices = ExtraIndices(rules, step)) {
    if (options.splits != nullptr && block > 0) {
      const std::int64_t lanes = std::min(first.width, first.active);
      blocks = std::max<std::int64_t>(1, (lanes + block - 1) / block);
    }
    IndexRow extra{.indices = indices,
                   .width = indices->shape[1],
                   .active = ExtraActiveLanes(rules, step, length_of),
                   .first_lane = block > 0 ? blocks * block : first_width,
                   .extra = true,
                   .pool = options.extra_in_first ? &pool : &step.extra,
                   .geometry = OfExtra(pool, step.extra, options),
                   .in_extra = !options.extra_in_first};
    if (options.extra_width_of_first) {
      extra.active = std::min(extra.active, first_width);
    }
    extra.size = options.extra_in_first
                     ? first.size
                     : static_cast<std::int64_t>(
                           step.Find(TensorId::kExtraCache)->bytes.size());
    AddKeys(rules, extra, query, options, &plan);
    extra_width = extra.width;
  }

  const int count = static_cast<int>(plan.keys.size());
  const std::int64_t per_split = contract.arithmetic().blocks_per_split();
  plan.known = block > 0 && (per_split > 0 || options.splits != nullptr);
  if (!plan.known) {
    plan.splits.push_back(
        {{0, count}, {{0, count}}, plan.masked, plan.masked_extra});
    return plan;
  }
  // Lanes of the rows in blocks [begin, end); a last block's lanes past its
  // row's width are no lanes.
  const auto lanes_in = [&](std::int64_t begin, std::int64_t end,
                            std::int64_t from, std::int64_t width) {
    const std::int64_t low = std::max<std::int64_t>(begin - from, 0) * block;
    const std::int64_t high =
        std::min(std::max<std::int64_t>(end - from, 0) * block, width);
    return std::max<std::int64_t>(high - low, 0);
  };
  const std::int64_t all_blocks = blocks + (extra_width + block - 1) / block;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (options.splits != nullptr) {
    for (const auto& [begin, end] :
         (*options.splits)[static_cast<std::size_t>(query)]) {
      ranges.push_back({begin, end});
    }
  } else {
    ranges = SplitBlocks(all_blocks, step.step->decode().splits(), per_split);
  }
  // Keys are in lane order, as are the blocks.
  int key = 0;
  for (const auto& [begin, end] : ranges) {
    KeyPlan::Split split{{key, key}, {}, 0, 0};
    for (std::int64_t b = begin; b < end; ++b) {
      KeyRange range{key, key};
      while (key < count && plan.keys[key].lane < (b + 1) * block) ++key;
      range.end = key;
      split.blocks.push_back(range);
    }
    split.keys.end = key;
    std::int64_t extra_keys = 0;
    for (int j = split.keys.first; j < key; ++j) {
      extra_keys += plan.keys[j].extra ? 1 : 0;
    }
    const std::int64_t first_keys = key - split.keys.first - extra_keys;
    const std::int64_t first_lanes =
        extra_width > 0 ? lanes_in(begin, std::min(end, blocks), 0, first_width)
                        : lanes_in(begin, end, 0, first_width);
    split.masked_extra = std::max<std::int64_t>(
        lanes_in(begin, end, blocks, extra_width) - extra_keys, 0);
    split.masked = std::max<std::int64_t>(first_lanes - first_keys, 0) +
                   split.masked_extra;
    plan.splits.push_back(std::move(split));
  }
  return plan;
}

}  // namespace mlafuzz::oracle
