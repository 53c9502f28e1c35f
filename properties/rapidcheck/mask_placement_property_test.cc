// Masked lanes may stand anywhere.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(MaskPlacement, MasksMayStandAnywhere, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "mask-placement");
}

}  // namespace
}  // namespace mlafuzz
