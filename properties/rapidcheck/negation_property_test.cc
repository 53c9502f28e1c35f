// Signs pass through quantisation.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(Negation, FlipsSignsOnly, ()) {
  RelationHolds(
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false}),
      "negation");
}

}  // namespace
}  // namespace mlafuzz
