// Which rows of the pool a writer touches: those of slots that are not
// negative, whole, wherever they lie in their page. Needs no oracle.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

constexpr int kSentinel = 0xa5;

rc::Gen<std::int64_t> Slot(std::int64_t page_size, std::int64_t pages) {
  const std::int64_t n = page_size * pages;
  return rc::gen::weightedOneOf<std::int64_t>(
      {{6, rc::gen::inRange<std::int64_t>(0, n)},
       {1, rc::gen::just(n - 1)},
       {1, rc::gen::map(rc::gen::inRange<std::int64_t>(0, pages),
                        [=](std::int64_t page) { return page * page_size; })},
       {1, rc::gen::map(rc::gen::inRange<std::int64_t>(0, pages),
                        [=](std::int64_t page) {
                          return page * page_size + page_size - 1;
                        })},
       {2, rc::gen::just<std::int64_t>(-1)},
       {1, rc::gen::inRange<std::int64_t>(-20, -1)},
       {1,
        rc::gen::element<std::int64_t>(
            -(std::int64_t{1} << 32), std::numeric_limits<std::int32_t>::min(),
            std::numeric_limits<std::int64_t>::min())}});
}

RC_GTEST_PROP(Slots, AreWrittenAndNothingElse, ()) {
  const auto page_size = *rc::gen::element<std::int64_t>(1, 2, 3, 5, 16);
  const auto pages = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto drawn =
      *rc::gen::container<std::vector<std::int64_t>>(Slot(page_size, pages));
  Case c;
  c.mutable_pool()->set_page_size(static_cast<std::uint32_t>(page_size));
  c.mutable_pool()->set_pages(static_cast<std::uint32_t>(pages));
  c.mutable_pool()->mutable_fill()->set_byte(kSentinel);
  c.mutable_pool()->set_row_stride(*rc::gen::element(0u, 672u));
  Write& w = *c.add_steps()->mutable_write();
  w.set_pe_dim(*rc::gen::element(0u, 64u));
  // Values of 1.0: no byte of a written row is the sentinel.
  for (Values* values : {w.mutable_kv_c(), w.mutable_k_pe()}) {
    values->set_pattern(Values::CONSTANT);
    values->set_bits(0x3f80);
  }
  std::set<std::int64_t> written;
  for (const std::int64_t slot : drawn) {
    if (slot >= 0 && !written.insert(slot).second) continue;
    w.mutable_slots()->add_values(slot);
  }
  RC_CLASSIFY(written.empty(), "nothing to write");

  const CaseResult result = Run(c);
  const StepObservation& step = result.observation.steps[0];
  RC_ASSERT(step.status == CallStatus::kOk);
  RC_ASSERT(step.strays.empty());
  const PoolImage& pool = result.image.pool;
  const std::vector<std::uint8_t>& after = step.pool ? *step.pool : pool.bytes;
  for (std::int64_t slot = 0; slot < pool.slots(); ++slot) {
    const std::uint8_t* row = after.data() + pool.RowAt(slot);
    const auto is_sentinel = [](std::uint8_t b) { return b == kSentinel; };
    if (written.count(slot) > 0) {
      RC_ASSERT(std::none_of(row, row + 656, is_sentinel));
    } else {
      RC_ASSERT(std::all_of(row, row + 656, is_sentinel));
    }
  }
}

RC_GTEST_PROP(Slots, OracleAgrees, ()) {
  HoldsFor(*ArbitraryCase({.gather = false, .convert = false}),
           {property::kSlots});
}

}  // namespace
}  // namespace mlafuzz
