#include "fuzz/worker/distinct.h"

#include <filesystem>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Folder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(Distinct, CountsOverJobsWithoutDoubleCounting) {
  const std::string folder = Folder("jobs");
  {
    DistinctCases a(folder, 0), b(folder, 1);
    for (std::uint64_t i = 0; i < 3000; ++i)
      EXPECT_TRUE(a.Add(Kernel::kWriter, i));
    for (std::uint64_t i = 2000; i < 5000; ++i) b.Add(Kernel::kWriter, i);
    EXPECT_FALSE(a.Add(Kernel::kWriter, 7));
    EXPECT_TRUE(a.Add(Kernel::kGather, 7));
  }
  EXPECT_EQ(CountDistinct(folder, Kernel::kWriter), 5000u);
  EXPECT_EQ(CountDistinct(folder, Kernel::kGather), 1u);
  EXPECT_EQ(CountDistinct(folder, Kernel::kConvert), 0u);
}

TEST(Distinct, ARestartedJobGoesOn) {
  const std::string folder = Folder("restart");
  {
    DistinctCases(folder, 0).Add(Kernel::kConvert, 11);
  }
  DistinctCases again(folder, 0);
  EXPECT_FALSE(again.Add(Kernel::kConvert, 11));
  EXPECT_TRUE(again.Add(Kernel::kConvert, 12));
  again.Flush();
  EXPECT_EQ(CountDistinct(folder, Kernel::kConvert), 2u);
}

}  // namespace
}  // namespace mlafuzz
