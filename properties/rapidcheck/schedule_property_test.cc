// Neither the order of lanes nor an earlier call changes what a call does.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(Schedule, OrderDoesNotMatter, ()) {
  RelationHolds(*ArbitraryCase({.invalid = false}), "schedule");
}

RC_GTEST_PROP(Schedule, NoStateIsLeftBehind, ()) {
  RelationHolds(*ArbitraryCase({.invalid = false}), "run-twice");
}

}  // namespace
}  // namespace mlafuzz
