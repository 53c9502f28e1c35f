#include "oracle/neighbour_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "oracle/damage.h"
#include "oracle/outside_memory.h"
#include "oracle/write_plan.h"

namespace mlafuzz::oracle {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// One neighbour's word on one step.
class Weighing {
 public:
  Weighing(const Neighbour& neighbour, const WrongStep& wrong)
      : neighbour_(neighbour),
        wrong_(wrong),
        other_(Expect(neighbour.contract, wrong.image, wrong.index,
                      wrong.before)) {}

  Fit Run() const {
    const Fit fit = OfBytes();
    return fit == Fit::kNone && MayFollow() ? Fit::kPossible : fit;
  }

 private:
  Fit OfBytes() const {
    if (wrong_.matches || JudgesStrays()) {
      // Memory safety failed: the rule must reach outside, and to there.
      if (other_.outside_writes == 0 || !HitOutside(/*before=*/{})) {
        return Fit::kNone;
      }
    }
    if (Predicts(wrong_.after)) {
      if (wrong_.matches) return Fit::kOutside;
      if (other_.unsettled.empty()) return Fit::kExact;
      // What a rule takes from foreign memory may be anything, and so would
      // explain anything: to be named it must predict some wrong byte by
      // itself, or a sanitizer have seen the access. (A torn row is no such
      // thing: each byte is one writer's or the other's.)
      return !ReadsForeign(neighbour_, other_) ||
                     !wrong_.observed.reports.empty() || PredictsAWrongByte()
                 ? Fit::kUnsettled
                 : Fit::kPossible;
    }
    return neighbour_.field == "writer.slots" && ReachesBelowPool()
               ? OfBytesFromPage0()
               : Fit::kNone;
  }

  bool Predicts(const AfterImage& after) const {
    return Matches(neighbour_.contract, wrong_.image, wrong_.index,
                   wrong_.before, other_, after);
  }

  // Another division of a negative slot, or a row half inside: compares from
  // page 0 on alone.
  Fit OfBytesFromPage0() const {
    AfterImage in_pool = wrong_.after;
    std::vector<std::uint8_t> pool(wrong_.after.pool.begin(),
                                   wrong_.after.pool.end());
    const Bytes want = ExpectedPool(other_, wrong_.before);
    const std::size_t offset =
        static_cast<std::size_t>(wrong_.image.pool.offset);
    Stray before;
    for (std::size_t i = 0; i < offset; ++i) {
      if (pool[i] == wrong_.before[i]) continue;
      before.last = static_cast<std::int64_t>(i);
      if (before.count++ == 0) before.first = before.last;
    }
    if (!HitOutside(before)) return Fit::kNone;
    std::copy_n(want.begin(), offset, pool.begin());
    in_pool.pool = pool;
    return Predicts(in_pool) ? Fit::kOutside : Fit::kNone;
  }

  // Memory that is nobody's to change was hit, by rows that the rule sends
  // there or reads from there. Whatever else is wrong may come of that: such a
  // row may lie on the input of the next.
  bool MayFollow() const {
    if (wrong_.observed.strays.empty() && wrong_.observed.reports.empty() &&
        !wrong_.damage.foreign) {
      return false;
    }
    return other_.outside_writes > 0 || ReadsForeign(neighbour_, other_) ||
           (wrong_.step.kernel == Kernel::kWriter && StoresSkipped());
  }

  // Whether the rule stores rows that the contract skips. Their addresses may
  // wrap around in 64 bits and fall anywhere.
  bool StoresSkipped() const {
    const auto skipped = [this](const Contract& contract) {
      return PlanWrites(contract.writer(), wrong_.image.pool, wrong_.step)
          .skipped.size();
    };
    return skipped(neighbour_.contract) < skipped(wrong_.contract);
  }

  // Whether the check at hand is of bytes outside of the tensors.
  bool JudgesStrays() const {
    return wrong_.check.property == property::kMemory &&
           !wrong_.observed.strays.empty();
  }

  // Whether a byte that the contract settles is wrong, and the rule, which
  // matches what came back, settles it too.
  bool PredictsAWrongByte() const {
    if (PredictsOneOf(-1, wrong_.wanted_pool(), wrong_.after.pool)) return true;
    for (std::size_t i = 0; i < wrong_.step.tensors.size(); ++i) {
      if (wrong_.step.tensors[i].output &&
          PredictsOneOf(static_cast<int>(i), wrong_.expected.outputs[i],
                        wrong_.after.outputs[i])) {
        return true;
      }
    }
    return false;
  }

  // The same of one tensor's bytes; -1: of the pool's.
  bool PredictsOneOf(int tensor, Bytes want, Bytes got) const {
    std::vector<bool> open(want.size());
    for (const Expectation* e : {&wrong_.expected, &other_}) {
      for (const ByteRange& range : e->unsettled) {
        if (range.tensor != tensor) continue;
        std::fill(open.begin() + range.begin, open.begin() + range.end, true);
      }
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i] != got[i] && !open[i]) return true;
    }
    return false;
  }

  // A sanitizer spoke, or bytes changed where a rule that is not kept stores
  // its rows: outside the pool, where a negative slot is taken for an address;
  // or beside dst, where a start past its end is. `before`: what changed within
  // the pool's bytes before page 0.
  bool HitOutside(const Stray& before) const {
    if (wrong_.observed.strays.empty() && before.count == 0) {
      return !wrong_.observed.reports.empty();
    }
    return LeftByRows(
        OutsideWrites(neighbour_.contract, wrong_.image.pool, wrong_.step),
        wrong_.step, wrong_.observed.strays, before);
  }

  // Whether the rule stores rows outside the pool or before its page 0.
  bool ReachesBelowPool() const {
    if (other_.outside_writes > 0) return true;
    const Bytes pool = ExpectedPool(other_, wrong_.before);
    return !std::equal(pool.begin(), pool.begin() + wrong_.image.pool.offset,
                       wrong_.before.begin());
  }

  const Neighbour& neighbour_;
  const WrongStep& wrong_;
  const Expectation other_;
};

}  // namespace

Fit FitOf(const Neighbour& neighbour, const WrongStep& wrong) {
  return Weighing(neighbour, wrong).Run();
}

// A row that a race may have torn is no foreign memory.
bool ReadsForeign(const Neighbour& neighbour, const Expectation& other) {
  return !other.unsettled.empty() && neighbour.field != "writer.duplicates";
}

}  // namespace mlafuzz::oracle
