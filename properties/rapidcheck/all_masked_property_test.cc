// A row of masked lanes alone is an empty row.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(AllMasked, RowsWithoutKeysAreEmpty, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "all-masked");
}

}  // namespace
}  // namespace mlafuzz
