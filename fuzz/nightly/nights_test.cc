#include "fuzz/nightly/nights.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(NightsTest, OneAtATimeAndACutOneGoesOn) {
  const std::string state = testing::TempDir() + "/state";
  std::filesystem::remove_all(state);
  EXPECT_EQ(LastNight(state), 0u);
  {
    const auto first = Night::Begin(state);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->number(), 1u);
    EXPECT_FALSE(first->resumed());
    EXPECT_EQ(Night::Begin(state).status().code(),
              absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(LastNight(state), 0u);
  {
    const auto again = Night::Begin(state);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->number(), 1u);
    EXPECT_TRUE(again->resumed());
    std::ofstream(again->folder() + "/report.json") << "{}";
  }
  EXPECT_EQ(LastNight(state), 1u);
  const auto second = Night::Begin(state);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->number(), 2u);
  EXPECT_FALSE(second->resumed());
  EXPECT_EQ(LastNight(state), 1u);
}

}  // namespace
}  // namespace mlafuzz
