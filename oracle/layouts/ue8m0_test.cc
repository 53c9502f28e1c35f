#include "oracle/layouts/ue8m0.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

using Zero = Ue8m0Reading::Zero;
using Last = Ue8m0Reading::Last;

// All 256 bytes under each of the four readings, against powers in fp64.
TEST(Ue8m0, EveryByteUnderEveryReading) {
  for (const Zero zero : {Zero::kSubnormal, Zero::kZero}) {
    for (const Last last : {Last::kNan, Last::kInf}) {
      for (int byte = 0; byte < 256; ++byte) {
        const float got =
            Ue8m0Value(static_cast<std::uint8_t>(byte), {zero, last});
        if (byte == 255) {
          EXPECT_EQ(std::isnan(got), last == Last::kNan);
          EXPECT_EQ(std::isinf(got) && got > 0, last == Last::kInf);
        } else if (byte == 0 && zero == Zero::kZero) {
          EXPECT_EQ(got, 0.0f);
          EXPECT_FALSE(std::signbit(got));
        } else {
          EXPECT_EQ(static_cast<double>(got), std::pow(2.0, byte - 127));
        }
      }
    }
  }
}

TEST(Ue8m0, EveryByteComesBackFromItsValue) {
  for (int byte = 0; byte < 255; ++byte) {
    EXPECT_EQ(Ue8m0FromPow2(Ue8m0Value(static_cast<std::uint8_t>(byte), {})),
              byte);
  }
  EXPECT_EQ(Ue8m0FromPow2(std::numeric_limits<float>::infinity()), 255);
  EXPECT_EQ(Ue8m0FromPow2(std::numeric_limits<float>::quiet_NaN()), 255);
  EXPECT_EQ(Ue8m0FromPow2(0x1p-140f), 0);
  // vLLM's floor: amax 1e-4 over 448, up to a power of two.
  EXPECT_EQ(Ue8m0FromPow2(0x1p-22f), 105);
}

}  // namespace
}  // namespace mlafuzz::oracle
