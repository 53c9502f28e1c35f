// Rows without rope: their tail is zero in the row and through the gather,
// whatever lay there, and they are the rows of an all-zero rope.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(NopeTail, IsZeroInTheRow, ()) {
  HoldsFor(*ArbitraryCase({.gather = false, .convert = false}),
           {property::kNopeTail});
}

RC_GTEST_PROP(NopeTail, IsZeroThroughTheGather, ()) {
  Case c =
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false});
  for (Step& step : *c.mutable_steps()) {
    if (!step.has_write()) continue;
    step.mutable_write()->clear_pe_dim();
    step.mutable_write()->clear_k_pe();
    step.mutable_write()->clear_k_pe_row_stride();
    step.mutable_write()->clear_k_pe_offset();
  }
  RelationHolds(c, "nope-tail-through-gather");
}

RC_GTEST_PROP(NopeTail, GatherIgnoresStaleTails, ()) {
  HoldsFor(*ArbitraryCase({.writer = false, .convert = false}),
           {property::kGatherTail});
}

RC_GTEST_PROP(NopeTail, EqualsAZeroRope, ()) {
  RelationHolds(
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false}),
      "zero-rope");
}

}  // namespace
}  // namespace mlafuzz
