#include "kernels/foreign/sanitizer_log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SanitizerLogTest, NamesWhatAndWhere) {
  EXPECT_THAT(
      SanitizerReportsIn(
          "========= COMPUTE-SANITIZER\n"
          "========= Invalid __global__ read of size 16 bytes\n"
          "=========     at void Kernel<Policy>(Params)+0x2a0 in k.cuh:12\n"
          "=========     by thread (3,0,0) in block (0,0,0)\n"
          "=========     Access at 0x7f0000000400 is out of bounds\n"
          "=========     Saved host backtrace up to driver entry point\n"
          "=========         Host Frame: main [0x100] in runner\n"
          "========= \n"
          "========= Invalid __global__ read of size 16 bytes\n"
          "=========     at void Kernel<Policy>(Params)+0x2a0 in k.cuh:12\n"
          "=========     by thread (4,0,0) in block (0,0,0)\n"
          "========= \n"
          "========= ERROR SUMMARY: 2 errors\n"),
      ElementsAre("Invalid __global__ read of size 16 bytes at void "
                  "Kernel<Policy>+0x2a0 in k.cuh:12"));
}

TEST(SanitizerLogTest, FindsNothingInAGoodRun) {
  EXPECT_THAT(SanitizerReportsIn("========= COMPUTE-SANITIZER\n"
                                 "========= ERROR SUMMARY: 0 errors\n"),
              IsEmpty());
  EXPECT_THAT(SanitizerReportsIn("========= COMPUTE-SANITIZER\n"
                                 "========= RACECHECK SUMMARY: 0 hazards "
                                 "displayed (0 errors, 0 warnings)\n"),
              IsEmpty());
}

TEST(SanitizerLogTest, KeepsWhatHasNoPlace) {
  EXPECT_THAT(SanitizerReportsIn("what the target prints\n"
                                 "========= Error: Race reported between Write "
                                 "access at A+0x10 in k.cuh:3\n"
                                 "=========     and Read access at B+0x20 "
                                 "[4 hazards]\n"
                                 "=========\n"),
              ElementsAre("Error: Race reported between Write access at A+0x10 "
                          "in k.cuh:3"));
}

}  // namespace
}  // namespace mlafuzz
