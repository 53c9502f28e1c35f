// A query without rope is one whose rope is 0.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(DecodeZeroRope, NoRopeIsARopeOfZeros, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "decode-zero-rope");
}

}  // namespace
}  // namespace mlafuzz
