// A tile's scale depends on its values as a set, each code on its own value.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(TilePermutation, CodesMoveWithTheirValues, ()) {
  RelationHolds(
      *ArbitraryCase({.gather = false, .convert = false, .invalid = false}),
      "tile-permutation");
}

}  // namespace
}  // namespace mlafuzz
