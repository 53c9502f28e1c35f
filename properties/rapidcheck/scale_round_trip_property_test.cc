// What a writer stores, a gather reads back within the derived bound: codes and
// scales mean the same on both sides.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(ScaleRoundTrip, ValuesComeBack, ()) {
  RelationHolds(
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false}),
      "round-trip");
}

RC_GTEST_PROP(ScaleRoundTrip, WriterBytesAreExact, ()) {
  HoldsFor(*ArbitraryCase({.gather = false, .convert = false}),
           {property::kWriterRow});
}

}  // namespace
}  // namespace mlafuzz
