#include "fuzz/nightly/nights.h"

#include <sys/wait.h>
#include <unistd.h>

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

// What a killed night leaves for a moment: a forked child with its lock.
TEST(NightsTest, AChildThatIsAboutToLeaveIsWaitedFor) {
  const std::string state = testing::TempDir() + "/left";
  std::filesystem::remove_all(state);
  pid_t child = 0;
  {
    const auto first = Night::Begin(state);
    ASSERT_TRUE(first.ok()) << first.status();
    child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      usleep(400'000);
      _exit(0);
    }
  }
  EXPECT_TRUE(Night::Begin(state).ok());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace mlafuzz
