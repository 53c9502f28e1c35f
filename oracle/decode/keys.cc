#include "oracle/decode/keys.h"

#include <algorithm>

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

// Byte of a slot's row, where a reader looks for it.
std::int64_t RowAt(const PoolImage& pool, std::int64_t slot,
                   const ExpectOptions& options) {
  const auto or_own = [](std::int64_t other, std::int64_t own) {
    return other == 0 ? own : other;
  };
  const std::int64_t page = or_own(options.page_size, pool.page_size);
  return pool.offset +
         slot / page * or_own(options.page_stride, pool.page_stride) +
         slot % page * or_own(options.row_stride, pool.row_stride);
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

KeyPlan PlanKeys(const Contract& contract, const PoolImage& pool,
                 const StepImage& step, std::int64_t query,
                 const ExpectOptions& options) {
  KeyPlan plan;
  const DecodeContract& rules = contract.decode();
  const Tensor* indices = step.Find(TensorId::kIndices);
  const std::int64_t width =
      options.lanes < 0 ? DecodeWidth(rules, step)
                        : std::min(DecodeWidth(rules, step), options.lanes);
  const std::int64_t given = std::min(
      width, ActiveLanes(rules, step, options.first_length ? 0 : query));
  const std::int64_t row =
      (options.first_indices ? 0 : query) *
      (options.dense_indices ? indices->shape[1] : indices->strides[0]);
  const Storage<std::int32_t> storage(indices);
  const auto masked = [&](std::int64_t lane) {
    const std::int64_t element = row + lane * indices->strides[1];
    return !storage.Has(element) || MasksIndex(rules, storage[element]);
  };
  const std::int64_t active = ActiveOf(options.length, given, width, masked);
  const std::int64_t row_bytes = LayoutOf(pool.layout).row_bytes;
  const std::int64_t size = static_cast<std::int64_t>(pool.bytes.size());
  for (std::int64_t lane = 0; lane < width; ++lane) {
    const std::int64_t element = row + lane * indices->strides[1];
    if (lane >= active || !storage.Has(element) ||
        MasksIndex(rules, storage[element])) {
      ++plan.masked;
      if (options.reads_past_length && lane >= active && storage.Has(element) &&
          storage[element] >= 0) {
        Key past{.lane = lane, .slot = storage[element], .at = -1};
        if (past.slot < pool.slots()) past.at = pool.RowAt(past.slot);
        plan.outside += past.at < 0 ? 1 : 0;
        plan.read_past_length.push_back(past);
      }
      continue;
    }
    Key key{.lane = lane, .slot = storage[element], .at = -1};
    if (key.slot >= 0 && key.slot < pool.slots()) {
      key.at = RowAt(pool, key.slot, options);
      if (key.at + row_bytes > size) key.at = -1;
    }
    plan.outside += key.at < 0 ? 1 : 0;
    plan.keys.push_back(key);
  }

  const int count = static_cast<int>(plan.keys.size());
  const std::int64_t block = contract.arithmetic().block();
  const std::int64_t per_split = contract.arithmetic().blocks_per_split();
  plan.known = block > 0 && (per_split > 0 || options.splits != nullptr);
  if (!plan.known) {
    plan.splits.push_back({{0, count}, {{0, count}}, plan.masked});
    return plan;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (options.splits != nullptr) {
    for (const auto& [first, end] :
         (*options.splits)[static_cast<std::size_t>(query)]) {
      ranges.push_back({first, end});
    }
  } else {
    ranges = SplitBlocks((width + block - 1) / block,
                         step.step->decode().splits(), per_split);
  }
  // Keys are in lane order, as are the blocks.
  int key = 0;
  for (const auto& [first, end] : ranges) {
    KeyPlan::Split split{{key, key}, {}, 0};
    for (std::int64_t b = first; b < end; ++b) {
      KeyRange range{key, key};
      while (key < count && plan.keys[key].lane < (b + 1) * block) ++key;
      range.end = key;
      split.blocks.push_back(range);
    }
    split.keys.end = key;
    // Lanes of the last block past the row's width are no lanes.
    split.masked = std::max<std::int64_t>(
        std::min(end * block, width) - first * block - (key - split.keys.first),
        0);
    plan.splits.push_back(std::move(split));
  }
  return plan;
}

}  // namespace mlafuzz::oracle
