#include "properties/fused/pools_on_device.h"

#include <algorithm>
#include <cstring>

#include "corpus/case.pb.h"
#include "corpus/image.h"
#include "corpus/pool_filling.h"

namespace mlafuzz {
namespace {

// Calls part(at, byte, count) as ForEachPart(): of bytes `byte` to byte + count
// of the patch, `at` in the pool's bytes.
template <typename Part>
void ForEachPatchPart(const PoolImage& pool, const Patch& patch,
                      const Part& part) {
  const std::int64_t first = patch.at();
  ForEachPart(pool, static_cast<std::int64_t>(patch.slot()), first,
              static_cast<std::int64_t>(patch.data().size()),
              [&](std::int64_t at, std::int64_t byte, std::int64_t count) {
                part(at, byte - first, count);
              });
}

}  // namespace

PoolsOnDevice::PoolsOnDevice(const FusedCase& fused, const LentLayout& layout,
                             LentMemory& memory, std::uint64_t& copied_bytes)
    : fused_(fused),
      layout_(layout),
      memory_(memory),
      copied_bytes_(copied_bytes) {
  const std::vector<const CaseImage*>& members = fused.members();
  call_.shape = PoolShapeOf(members[0]->pool);
  call_.pools = members.size();
  firsts_.reserve(members.size());
  for (const CaseImage* const member : members) {
    firsts_.push_back({call_.patches, call_.patch_bytes});
    call_.most_bytes =
        std::max<std::uint64_t>(call_.most_bytes, member->pool.bytes.size());
    for (const Patch& patch : member->source->pool().patches()) {
      call_.patch_bytes += patch.data().size();
      ForEachPatchPart(member->pool, patch,
                       [this](std::int64_t, std::int64_t, std::int64_t) {
                         ++call_.patches;
                       });
    }
  }
}

void PoolsOnDevice::PlanAt(std::uint8_t* rows, std::uint64_t offset) {
  rows_ = rows;
  offset_ = offset;
}

void PoolsOnDevice::Plan(std::size_t m) {
  const CaseImage& member = *fused_.members()[m];
  const Case& c = *member.source;
  const std::uint64_t at = layout_.PoolOf(m);
  std::uint64_t number = firsts_[m].patch;
  std::uint64_t byte = firsts_[m].byte;
  for (const Patch& patch : c.pool().patches()) {
    std::memcpy(rows_ + call_.bytes_at() + byte, patch.data().data(),
                patch.data().size());
    ForEachPatchPart(
        member.pool, patch,
        [&](std::int64_t to, std::int64_t from, std::int64_t count) {
          const PoolPatch part = {
              .at = at + static_cast<std::uint64_t>(to),
              .from = byte + static_cast<std::uint64_t>(from),
              .count = static_cast<std::uint64_t>(count)};
          std::memcpy(rows_ + call_.patches_at() + number++ * sizeof part,
                      &part, sizeof part);
        });
    byte += patch.data().size();
  }
  PoolToFill pool = {
      .filling = PoolFillingOf(c.pool().fill(), PoisonOfPool(c), member.pool),
      .at = at,
      .first_patch = firsts_[m].patch,
      .patches = number - firsts_[m].patch};
  // Those bytes are the first member's.
  pool.filling.from_page_0 = m > 0;
  std::memcpy(rows_ + m * sizeof pool, &pool, sizeof pool);
}

absl::Status PoolsOnDevice::Begin() {
  copied_bytes_ += plan_bytes();
  return memory_.Fill(
      {reinterpret_cast<const std::uint8_t*>(&call_), sizeof call_}, offset_);
}

}  // namespace mlafuzz
