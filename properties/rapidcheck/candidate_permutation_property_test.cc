// The order of the candidates does not matter.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(CandidatePermutation, CandidatesHaveNoOrder, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "candidate-permutation");
}

}  // namespace
}  // namespace mlafuzz
