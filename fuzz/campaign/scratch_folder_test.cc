#include "fuzz/campaign/scratch_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = testing::TempDir() + "/base";
    fs::remove_all(base_);
    fs::create_directories(base_);
    setenv("TMPDIR", base_.c_str(), 1);
  }

  // A process with a scratch folder, alive; its pid, and the folder in `path`.
  pid_t Owner(std::string* path) {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      const auto folder = ScratchFolder::Create();
      const std::string text = folder.ok() ? folder->path() : "";
      (void)!write(fds[1], text.data(), text.size());
      for (;;) pause();
    }
    char text[4096] = {};
    EXPECT_GT(read(fds[0], text, sizeof(text) - 1), 0);
    *path = text;
    close(fds[0]);
    close(fds[1]);
    return pid;
  }

  std::string base_;
};

TEST_F(ScratchFolderTest, GoesAwayWithItsObject) {
  std::string path;
  {
    const auto folder = ScratchFolder::Create();
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = folder->path();
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_EQ(SweepScratchFolders(base_), 0) << "our own";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolderTest, AKilledOwnersFolderIsSweptALivingOnesIsNot) {
  std::string alive, dead;
  const pid_t first = Owner(&alive);
  const pid_t second = Owner(&dead);
  std::ofstream(dead + "/work.0") << "x";
  kill(second, SIGKILL);
  waitpid(second, nullptr, 0);
  EXPECT_EQ(SweepScratchFolders(base_), 1);
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_FALSE(fs::exists(dead));
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  EXPECT_EQ(SweepScratchFolders(base_), 1);
  EXPECT_FALSE(fs::exists(alive));
}

// Nothing that somebody else may have put there.
TEST_F(ScratchFolderTest, LeavesTheRestAlone) {
  for (const char* name :
       {"mlafuzz.abcdef", "mlafuzz.toolong", "other.abcdef"}) {
    fs::create_directories(base_ + "/" + name);
  }
  std::ofstream(base_ + "/other.abcdef/.owner") << "999999999 1\n";
  std::ofstream(base_ + "/mlafuzz.toolong/.owner") << "999999999 1\n";
  // A name as ours, and a symlink in place of a folder.
  fs::create_directories(base_ + "/precious");
  std::ofstream(base_ + "/precious/.owner") << "999999999 1\n";
  fs::create_directory_symlink(base_ + "/precious", base_ + "/mlafuzz.linked");
  // An owner that is alive, though it holds no lock; and one that is no number.
  fs::create_directories(base_ + "/mlafuzz.living");
  std::ofstream(base_ + "/mlafuzz.living/.owner") << getppid() << " 0\n";
  fs::create_directories(base_ + "/mlafuzz.broken");
  std::ofstream(base_ + "/mlafuzz.broken/.owner") << "what\n";
  EXPECT_EQ(SweepScratchFolders(base_), 0);
  EXPECT_TRUE(fs::exists(base_ + "/precious/.owner"));
  // The same without a lock and without a process.
  std::ofstream(base_ + "/mlafuzz.broken/.owner") << "999999999 1\n";
  EXPECT_EQ(SweepScratchFolders(base_), 1);
}

TEST_F(ScratchFolderTest, NoPlaceIsAnErrorWithAWayOut) {
  setenv("TMPDIR", "/nonexistent", 1);
  const auto folder = ScratchFolder::Create();
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("set TMPDIR"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace mlafuzz
