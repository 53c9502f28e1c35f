// k queries of one request are k queries.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(QueryLength, QueriesAreIndependent, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "query-length");
}

}  // namespace
}  // namespace mlafuzz
