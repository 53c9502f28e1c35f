// A wider buffer of indices changes nothing.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(WiderBuffer, WidthBeyondTheKeysDoesNotMatter, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "wider-buffer");
}

}  // namespace
}  // namespace mlafuzz
