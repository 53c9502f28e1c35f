#include "fuzz/worker/status.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

TEST(Status, TheCaseOfADeadProcessIsStillThere) {
  const std::string path = testing::TempDir() + "/status";
  auto map = StatusMap::Create(path);
  ASSERT_TRUE(map.ok()) << map.status();
  const pid_t child = fork();
  if (child == 0) {
    auto mine = StatusMap::Open(path);
    if (!mine.ok()) _exit(1);
    WorkerStatus& status = ***mine;
    status.Add(status.cases, 3);
    status.Begin("the case that kills");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const WorkerStatus& seen = ***map;
  EXPECT_EQ(seen.cases, 3u);
  EXPECT_EQ(seen.busy, 1u);
  EXPECT_EQ(seen.CurrentCase(), "the case that kills");
}

// A hole would end whoever writes first, by SIGBUS.
TEST(Status, OnAFullDiskItIsRefused) {
  const std::string folder = testing::TempDir() + "/small";
  mkdir(folder.c_str(), 0777);
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=8k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system: "
                 << std::strerror(errno);
  }
  const auto map = StatusMap::Create(folder + "/status");
  umount2(folder.c_str(), MNT_DETACH);
  ASSERT_FALSE(map.ok());
  EXPECT_NE(map.status().message().find("No space left on device; set TMPDIR"),
            std::string::npos)
      << map.status();
}

TEST(Status, CreateForgetsOldCounts) {
  const std::string path = testing::TempDir() + "/again";
  {
    auto map = StatusMap::Create(path);
    ASSERT_TRUE(map.ok());
    WorkerStatus& status = ***map;
    status.Add(status.checks, 7);
  }
  auto map = StatusMap::Create(path);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ((**map)->checks, 0u);
}

TEST(Status, OpenNamesAMissingFile) {
  const auto map = StatusMap::Open("/nonexistent/status");
  ASSERT_FALSE(map.ok());
  EXPECT_NE(map.status().message().find("/nonexistent/status"),
            absl::string_view::npos);
}

TEST(Status, AnOversizedCaseIsCut) {
  auto map = StatusMap::Create(testing::TempDir() + "/big");
  ASSERT_TRUE(map.ok());
  WorkerStatus& status = ***map;
  status.Begin(std::string(kMaxCaseBytes + 1, 'x'));
  EXPECT_EQ(status.CurrentCase().size(), kMaxCaseBytes);
  status.End();
  EXPECT_EQ(status.busy, 0u);
}

}  // namespace
}  // namespace mlafuzz
