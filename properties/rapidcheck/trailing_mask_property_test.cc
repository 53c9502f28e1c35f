// -1 in the last block's free lanes changes nothing.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(TrailingMask, LanesOfTheLastBlockMayBeMasked, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "trailing-mask");
}

}  // namespace
}  // namespace mlafuzz
