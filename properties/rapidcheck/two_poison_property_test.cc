// Bytes that a kernel may not read do not matter, whatever they hold.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(TwoPoison, UnreadBytesDoNotMatter, ()) {
  RelationHolds(*ArbitraryCase({.invalid = false}), "two-poison");
}

}  // namespace
}  // namespace mlafuzz
