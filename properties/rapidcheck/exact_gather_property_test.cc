// Every row of a gather is the exact product of code and scale, rounded once,
// from the page that the block table names.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(ExactGather, ValuesAreExact, ()) {
  HoldsFor(*ArbitraryCase({.writer = false, .convert = false}),
           {property::kGather});
}

}  // namespace
}  // namespace mlafuzz
