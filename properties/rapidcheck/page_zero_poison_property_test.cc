// Masked lanes do not read page 0.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(PageZeroPoison, PageZeroIsAPageLikeAnyOther, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "page-zero-poison");
}

}  // namespace
}  // namespace mlafuzz
