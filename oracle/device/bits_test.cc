#include "oracle/device/bits.h"

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz::oracle {
namespace {

TEST(Bits, AreCountedAsTheLibraryDoes) {
  EXPECT_EQ(LeadingZeros(0), 32);
  for (int bit = 0; bit < 32; ++bit) {
    for (const std::uint32_t low : {0u, 1u, 0x5a5a5a5au}) {
      const std::uint32_t x =
          std::uint32_t{1} << bit | (low & ((std::uint32_t{1} << bit) - 1));
      EXPECT_EQ(LeadingZeros(x), std::countl_zero(x));
      EXPECT_EQ(TrailingZeros(x), std::countr_zero(x));
      EXPECT_EQ(TrailingZeros(std::uint64_t{x} << 32),
                32 + std::countr_zero(x));
      if (x <= std::uint32_t{1} << 31) {
        EXPECT_EQ(PowerOfTwoFrom(x), std::bit_ceil(x));
      }
    }
  }
}

// nvcc says nothing of these in device code, and they come to nothing there.
TEST(Bits, NoCodeOfDevicesAsksTheLibrary) {
  const std::regex asks(
      R"(std::(count[lr]_|bit_ceil|bit_floor|bit_width|popcount|has_single_bit))");
  int read = 0;
  for (const char* folder : {"oracle/device", "oracle/decode", "oracle"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() != ".h" ||
          file.path().filename() == "bits.h") {
        continue;
      }
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      EXPECT_FALSE(std::regex_search(text.str(), asks)) << file.path();
      ++read;
    }
  }
  EXPECT_GT(read, 12);
}

}  // namespace
}  // namespace mlafuzz::oracle
