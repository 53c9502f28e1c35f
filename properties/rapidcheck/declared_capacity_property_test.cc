// A declared top-k below the width neither refuses nor clips.
#include "gtest/gtest.h"
#include "properties/rapidcheck/arbitrary_case.h"
#include "properties/rapidcheck/kernels_under_test.h"
#include "rapidcheck/gtest.h"

namespace mlafuzz {
namespace {

RC_GTEST_PROP(DeclaredCapacity, TheBufferIsTheCapacity, ()) {
  DecodeRelationHolds(*ArbitraryCase(kDecodesOnly), "declared-capacity");
}

}  // namespace
}  // namespace mlafuzz
