// Exactly the bytes that a call is to write change: no gap, no other row, no
// input, no guard.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(WrittenSet, NothingElseChanges, ()) {
  HoldsFor(*ArbitraryCase({}), {property::kWrittenSet, property::kMemory});
}

}  // namespace
}  // namespace mlafuzz
