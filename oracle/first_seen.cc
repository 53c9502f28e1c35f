#include "oracle/first_seen.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "oracle/damage.h"
#include "oracle/layout.h"

namespace mlafuzz::oracle {
namespace {

// Of the row whose tail is wrong: whether the tail is what it was.
bool KeepsTail(const WrongStep& wrong, const PoolPlace& place) {
  if (place.slot < 0) return false;
  const std::int64_t at =
      wrong.image.pool.RowAt(place.slot) + wrong.layout.rope_at;
  return std::memcmp(wrong.after.pool.data() + at, wrong.before.data() + at,
                     2 * static_cast<std::size_t>(wrong.layout.rope)) == 0;
}

std::string TailWords(const WrongStep& wrong, const PoolPlace& place) {
  const RowLayout& layout = wrong.layout;
  const std::uint8_t* tail = wrong.after.pool.data() +
                             wrong.image.pool.RowAt(place.slot) +
                             layout.rope_at;
  const bool uniform =
      std::all_of(tail, tail + 2 * layout.rope,
                  [&](std::uint8_t byte) { return byte == *tail; });
  return absl::StrCat(
      "bytes ", layout.rope_at, "..", layout.rope_end() - 1, " of slot ",
      place.slot, " keep ",
      uniform ? absl::StrFormat("0x%02x", *tail) : "what they held");
}

}  // namespace

std::string FirstSeen(const WrongStep& wrong) {
  if (wrong.matches) return wrong.check.detail;
  const Damage& damage = wrong.damage;
  if (damage.tail) {
    const PoolPlace place = PlaceInPool(wrong.image.pool, damage.tail.at);
    if (KeepsTail(wrong, place)) return TailWords(wrong, place);
  }
  for (const Region* region : Regions(damage)) {
    if (*region) {
      return absl::StrCat(DescribeFirst(wrong.image, wrong.index, wrong.before,
                                        wrong.expected, wrong.after, *region),
                          "; ", damage.wrong_rows, " of ", damage.rows,
                          " rows differ");
    }
  }
  return wrong.check.detail;
}

}  // namespace mlafuzz::oracle
