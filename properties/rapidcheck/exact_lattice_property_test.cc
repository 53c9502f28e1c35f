// Where every sum is exact, so is the result.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(ExactLattice, WholeNumbersAreExact, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "exact-lattice");
}

}  // namespace
}  // namespace mlafuzz
