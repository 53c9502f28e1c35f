#include <cstddef>
#include <cstdint>

#include "dlpack/dlpack.h"
#include "gtest/gtest.h"

namespace subset {
#include "fuzz/campaign/reproducer/dlpack_subset.h"
}  // namespace subset

namespace mlafuzz {
namespace {

#define SAME_MEMBER(name) \
  static_assert(offsetof(subset::DLTensor, name) == offsetof(::DLTensor, name))
SAME_MEMBER(data);
SAME_MEMBER(device);
SAME_MEMBER(ndim);
SAME_MEMBER(dtype);
SAME_MEMBER(shape);
SAME_MEMBER(strides);
SAME_MEMBER(byte_offset);
static_assert(sizeof(subset::DLTensor) == sizeof(::DLTensor));
static_assert(sizeof(subset::DLDevice) == sizeof(::DLDevice));
static_assert(sizeof(subset::DLDataType) == sizeof(::DLDataType));

TEST(DlpackSubset, HasTheNumbersOfTheRealOne) {
  EXPECT_EQ(static_cast<int>(subset::kDLCPU), static_cast<int>(::kDLCPU));
  EXPECT_EQ(static_cast<int>(subset::kDLCUDA), static_cast<int>(::kDLCUDA));
  EXPECT_EQ(static_cast<int>(subset::kDLInt), static_cast<int>(::kDLInt));
  EXPECT_EQ(static_cast<int>(subset::kDLUInt), static_cast<int>(::kDLUInt));
  EXPECT_EQ(static_cast<int>(subset::kDLFloat), static_cast<int>(::kDLFloat));
  EXPECT_EQ(static_cast<int>(subset::kDLBfloat), static_cast<int>(::kDLBfloat));
}

}  // namespace
}  // namespace mlafuzz
