// Which page holds which rows is the caller's choice alone.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(PageRelabelling, PagesHaveNoOrder, ()) {
  RelationHolds(*ArbitraryCase({.invalid = false}), "page-relabelling");
}

}  // namespace
}  // namespace mlafuzz
