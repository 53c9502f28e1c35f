#include "fuzz/worker/distinct.h"

#include <cmath>
#include <filesystem>

#include "corpus/value_generator.h"
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
      EXPECT_EQ(a.Add(Kernel::kWriter, i), 1u);
    for (std::uint64_t i = 2000; i < 5000; ++i) b.Add(Kernel::kWriter, i);
    EXPECT_EQ(a.Add(Kernel::kWriter, 7), 0u);
    EXPECT_EQ(a.Add(Kernel::kGather, 7), 1u);
  }
  const DistinctCount writer = CountDistinct(folder, Kernel::kWriter);
  EXPECT_EQ(writer.cases, 5000u);
  EXPECT_FALSE(writer.estimated);
  EXPECT_EQ(CountDistinct(folder, Kernel::kGather).cases, 1u);
  EXPECT_EQ(CountDistinct(folder, Kernel::kConvert).cases, 0u);
}

TEST(Distinct, ARestartedJobGoesOn) {
  const std::string folder = Folder("restart");
  {
    DistinctCases(folder, 0).Add(Kernel::kConvert, 11);
  }
  DistinctCases again(folder, 0);
  EXPECT_EQ(again.Add(Kernel::kConvert, 11), 0u);
  EXPECT_EQ(again.Add(Kernel::kConvert, 12), 1u);
  again.Flush();
  EXPECT_EQ(CountDistinct(folder, Kernel::kConvert).cases, 2u);
}

// Past its bound it says so, keeps no more, and is right within five times the
// standard error; alone, over jobs that met many of the same, after a restart,
// and as counted while it runs.
TEST(Distinct, ManyAreEstimated) {
  constexpr std::size_t kMost = 4096;
  constexpr std::uint64_t kAll = 100'000;
  const double error = 5 * std::sqrt(2.0 / kMost);
  const std::string folder = Folder("many");
  const ValueGenerator words(3);
  std::uint64_t live = 0;
  for (int part = 0; part < 2; ++part) {
    DistinctCases a(folder, 0, kMost);
    for (std::uint64_t i = 0; i < kAll / 2; ++i) {
      live += a.Add(Kernel::kWriter, words.Word(part * kAll / 2 + i));
    }
  }
  EXPECT_NEAR(static_cast<double>(live), kAll, error * kAll);
  {
    DistinctCases b(folder, 1, kMost);
    for (std::uint64_t i = kAll / 2; i < 2 * kAll; ++i) {
      b.Add(Kernel::kWriter, words.Word(i));
    }
  }
  // One that has few, all of which the others have.
  {
    DistinctCases c(folder, 2, kMost);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(c.Add(Kernel::kWriter, words.Word(i)), 1u);
    }
  }
  const DistinctCount all = CountDistinct(folder, Kernel::kWriter, kMost);
  EXPECT_TRUE(all.estimated);
  EXPECT_NEAR(static_cast<double>(all.cases), 2.0 * kAll, error * 2 * kAll);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_LE(file.file_size(), 8 * (kMost + DistinctCases::kBuffered + 2))
        << file.path();
  }
}

TEST(Distinct, WhatIsKeptDependsOnTheHashesAlone) {
  const ValueGenerator words(5);
  HashSample forth(1000), back(1000);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    forth.Add(words.Word(i));
    back.Add(words.Word(19'999 - i));
  }
  EXPECT_GT(forth.level(), 0);
  EXPECT_EQ(forth.level(), back.level());
  EXPECT_EQ(forth.kept(), back.kept());
}

}  // namespace
}  // namespace mlafuzz
