// A candidate n times weighs n times as much.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(Duplicates, CandidatesCountEachTime, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "duplicates");
}

}  // namespace
}  // namespace mlafuzz
