// Any number of splits gives the same result.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(SplitCount, SplitsDoNotMatter, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "split-count");
}

}  // namespace
}  // namespace mlafuzz
