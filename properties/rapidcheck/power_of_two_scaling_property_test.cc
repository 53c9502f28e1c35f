// A power of two passes through the scale and leaves the codes alone.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(PowerOfTwoScaling, ChangesTheScaleOnly, ()) {
  RelationHolds(
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false}),
      "power-of-two-scaling");
}

}  // namespace
}  // namespace mlafuzz
