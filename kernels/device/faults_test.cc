// Planted faults on a GPU: each gets the right verdict, on the right case.
// Skips itself where there is no GPU.

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/device/puzzles.h"

namespace mlafuzz {
namespace {

std::string Library() {
  return absl::StrCat(std::getenv("TEST_SRCDIR"),
                      "/mlafuzz/kernels/device/testing/faults.so");
}

class FaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = DescribeDevice(backend_);
    if (!device.ok()) {
      GTEST_SKIP() << "no GPU: " << device.status().message();
    }
    RecordProperty("device", *device);
  }

  Backend backend_ = {.cuda = true};
};

TEST_F(FaultsTest, EachHasItsVerdict) {
  const absl::Status ran = RunPuzzles(
      Library(), backend_, Puzzles(), [](const PuzzleResult& result) {
        EXPECT_EQ(result.seen, result.puzzle.expected)
            << result.puzzle.kernel << ": " << result.puzzle.fault
            << ", unmapped " << result.puzzle.guard << ": " << result.message;
      });
  EXPECT_TRUE(ran.ok()) << ran;
}

TEST_F(FaultsTest, TheRightCaseOfABatch) {
  EXPECT_EQ(RunBatchPuzzle(Library(), backend_), "");
}

}  // namespace
}  // namespace mlafuzz
