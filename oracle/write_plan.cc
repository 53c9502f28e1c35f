#include "oracle/write_plan.h"

#include <algorithm>
#include <cstdint>

#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

// Byte of the row that C++'s division (toward zero) gives for any slot.
// Addresses wrap at 2^64, so a slot near the smallest integer may well land in
// the pool.
std::int64_t RowAddress(const PoolImage& pool, std::int64_t slot) {
  return static_cast<std::int64_t>(
      static_cast<std::uint64_t>(slot / pool.page_size) *
          static_cast<std::uint64_t>(pool.page_stride) +
      static_cast<std::uint64_t>(slot % pool.page_size) *
          static_cast<std::uint64_t>(pool.row_stride) +
      static_cast<std::uint64_t>(pool.offset));
}

bool HasRepeats(const std::vector<RowWrite>& rows) {
  if (rows.size() < 2) return false;
  bool ascending = true;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ascending &= rows[i - 1].at < rows[i].at;
  }
  if (ascending) return false;
  std::vector<std::int64_t> places;
  places.reserve(rows.size());
  for (const RowWrite& row : rows) places.push_back(row.at);
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace

bool SkipsSlot(WriterContract::Slots rule, std::int64_t slot) {
  switch (rule) {
    case WriterContract::NONE_SKIPPED:
      return false;
    case WriterContract::MINUS_ONE_SKIPPED:
      return slot == -1;
    default:
      return slot < 0;
  }
}

WritePlan PlanWrites(const WriterContract& contract, const PoolImage& pool,
                     const StepImage& step) {
  WritePlan plan;
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  const Tensor* kv_c = step.Find(TensorId::kKvC);
  const Tensor* k_pe = step.Find(TensorId::kKPe);
  if (slots == nullptr || kv_c == nullptr || pool.page_size <= 0) return plan;
  const int row_bytes = LayoutOf(pool.layout).row_bytes;
  const Storage<std::int64_t> slot_of(slots);
  std::int64_t tokens = std::min(Length(slots), slot_of.size());
  // A token without a source row is a misuse; nothing is known about its row.
  tokens = std::min(tokens, kv_c->shape[0]);
  if (k_pe != nullptr) tokens = std::min(tokens, k_pe->shape[0]);
  plan.rows.reserve(static_cast<std::size_t>(tokens));
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t slot = slot_of[token];
    if (SkipsSlot(contract.slots(), slot)) {
      plan.skipped.push_back(token);
      continue;
    }
    const std::int64_t at = RowAddress(pool, slot);
    const std::int64_t last =
        static_cast<std::int64_t>(pool.bytes.size()) - row_bytes;
    if (slot >= pool.slots() || at < 0 || at > last) {
      ++plan.outside;
      plan.outside_at.push_back(at);
    } else {
      plan.rows.push_back({token, slot, at});
    }
  }
  plan.repeated = HasRepeats(plan.rows);
  if (plan.repeated && contract.duplicates() == WriterContract::FIRST_WINS) {
    std::reverse(plan.rows.begin(), plan.rows.end());
  }
  return plan;
}

}  // namespace mlafuzz::oracle
