#include "corpus/knobs/extra.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "corpus/knobs/parts.h"

namespace mlafuzz::knobs {
namespace {

// Lanes of the row that count.
std::int64_t ActiveLanes(const Tensor* lengths, std::int64_t query,
                         std::int64_t width) {
  if (lengths == nullptr || query >= lengths->shape[0]) return width;
  return std::clamp<std::int64_t>(
      Load<std::int32_t>(lengths->bytes.data(), query), 0, width);
}

}  // namespace

bool ExtraIsRefused(const StepImage& step, Found& found) {
  const Tensor* cache = step.Find(TensorId::kExtraCache);
  if (cache == nullptr) return false;
  const PoolImage& pool = step.extra;
  const Tensor& indices = *step.Find(TensorId::kExtraIndices);
  const Tensor* lengths = step.Find(TensorId::kExtraLengths);
  const std::int64_t queries = step.Find(TensorId::kQ)->shape[0];
  bool refused = false;
  const auto refuse = [&](bool when, KnobId knob) {
    if (when) found.set(knob);
    refused |= when;
  };
  refuse(pool.row_bytes != TokenLayoutOf(pool.layout).token_bytes,
         kDecodeRowBytes);
  refuse(indices.shape[0] != queries ||
             (lengths != nullptr && lengths->shape[0] != queries),
         kDecodeBatch);
  refuse(cache->misalignment % 16 != 0 ||
             (pool.page_size > 1 && pool.row_stride % 16 != 0) ||
             (pool.pages > 1 && pool.page_stride % 16 != 0),
         kDecodeAlignment);
  return refused;
}

void ExtraKnobs(const CaseImage& image, const StepImage& step,
                const std::vector<bool>& without_first, Found& found) {
  if (step.Find(TensorId::kExtraCache) == nullptr) {
    found.set(kExtraNone);
    return;
  }
  found.set(kExtraGiven);
  const PoolImage& first = image.pool;
  const PoolImage& pool = step.extra;
  const Tensor& indices = *step.Find(TensorId::kExtraIndices);
  const Tensor* lengths = step.Find(TensorId::kExtraLengths);
  const Tensor* first_lengths = step.Find(TensorId::kLengths);
  const std::int64_t width = indices.shape[1];
  if (pool.page_size != first.page_size) found.set(kExtraPageSizeDiffers);
  // A stride that no slot of a second page takes is seen by nobody.
  if (pool.pages > 1) {
    if (pool.page_stride != first.page_stride)
      found.set(kExtraPageStrideDiffers);
    if (PagesPadded(pool)) found.set(kExtraPagePadded);
  }
  if (indices.shape[0] > 1 && indices.strides[0] > width) {
    found.set(kExtraIndicesStrided);
  }
  if (width > 64) found.set(kExtraAboveBlock);
  found.set(lengths == nullptr ? kExtraLengthsNone : kExtraLengthsGiven);
  for (std::int64_t n = 0; n < indices.shape[0]; ++n) {
    if (!Holds(indices, n, width, 4)) continue;
    const std::uint8_t* const at =
        indices.bytes.data() + n * indices.strides[0] * 4;
    const std::int64_t active = ActiveLanes(lengths, n, width);
    std::int64_t keys = 0;
    bool masked = false, cut = false;
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const std::int64_t slot = Load<std::int32_t>(at, lane);
      const bool named = slot >= 0 && slot < pool.slots();
      if (lane >= active) {
        cut |= named;
        continue;
      }
      if (slot < 0) masked |= keys > 0;
      if (!named) continue;
      if (masked) found.set(kExtraMasked);
      if (slot >= first.slots()) found.set(kExtraSlotPastFirst);
      ++keys;
    }
    if (cut) found.set(kExtraLengthCuts);
    if (keys == 0) found.set(kExtraNoKeys);
    const std::size_t query = static_cast<std::size_t>(n);
    if (keys > 0 && query < without_first.size() && without_first[query]) {
      found.set(kExtraOnlyKeys);
    }
    if (lengths != nullptr && first_lengths != nullptr &&
        active != ActiveLanes(first_lengths, n, width)) {
      found.set(kExtraLengthDiffers);
    }
  }
}

}  // namespace mlafuzz::knobs
