// Heads may be split over calls.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(HeadShards, HeadsAreIndependent, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "head-shards");
}

}  // namespace
}  // namespace mlafuzz
