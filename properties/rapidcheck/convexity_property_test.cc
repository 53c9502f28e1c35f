// An output lies among the values of its keys.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(Convexity, OutputsAreMeans, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "convexity");
}

}  // namespace
}  // namespace mlafuzz
