#include "oracle/write_plan.h"

#include <algorithm>
#include <cstdint>

#include "oracle/layout.h"
#include "oracle/tensor_view.h"

namespace mlafuzz::oracle {
namespace {

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

bool SkipsSlot(const WriterContract& contract, std::int64_t slots,
               std::int64_t slot) {
  if (slot >= 0) {
    return slot >= slots &&
           contract.slots_past_pool() == WriterContract::PAST_POOL_SKIPPED;
  }
  switch (contract.slots()) {
    case WriterContract::NONE_SKIPPED:
      return false;
    case WriterContract::MINUS_ONE_SKIPPED:
      return slot == -1;
    default:
      return true;
  }
}

WritePlan PlanWrites(const WriterContract& contract, const PoolImage& pool,
                     const StepImage& step) {
  WritePlan plan;
  const Tensor* slots = step.Find(TensorId::kSlotMapping);
  const Tensor* kv_c = step.Find(TensorId::kKvC);
  const Tensor* k_pe = step.Find(TensorId::kKPe);
  if (slots == nullptr || kv_c == nullptr || pool.page_size <= 0) return plan;
  const RowLayout& layout = LayoutOf(pool.layout);
  const Storage<std::int64_t> slot_of(slots);
  std::int64_t tokens = std::min(Length(slots), slot_of.size());
  // A token without a source row is a misuse; nothing is known about its row.
  tokens = std::min(tokens, kv_c->shape[0]);
  if (k_pe != nullptr) tokens = std::min(tokens, k_pe->shape[0]);
  plan.rows.reserve(static_cast<std::size_t>(tokens));
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t slot = slot_of[token];
    if (SkipsSlot(contract, pool.slots(), slot)) {
      plan.skipped.push_back(token);
      continue;
    }
    // A slot near the smallest integer may well land in the pool.
    const TokenPlace place = PlaceOf(pool, slot);
    if (slot >= pool.slots() ||
        !Fits(layout, place, static_cast<std::int64_t>(pool.bytes.size()))) {
      ++plan.outside;
      plan.outside_at.push_back(place);
    } else {
      plan.rows.push_back({token, slot, place.row, place.behind});
    }
  }
  plan.repeated = HasRepeats(plan.rows);
  if (plan.repeated && contract.duplicates() == WriterContract::FIRST_WINS) {
    std::reverse(plan.rows.begin(), plan.rows.end());
  }
  return plan;
}

}  // namespace mlafuzz::oracle
