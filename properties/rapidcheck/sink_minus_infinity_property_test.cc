// A sink of minus infinity is no sink.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(SinkMinusInfinity, ASinkOfMinusInfinityIsNone, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "sink-minus-infinity");
}

}  // namespace
}  // namespace mlafuzz
