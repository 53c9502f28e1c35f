#include "fuzz/worker/minimize_log.h"

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "corpus/codec.h"
#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::string Path(const std::string& name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove(path);
  return path;
}

TEST(MinimizeLog, KeepsAnswers) {
  const std::string path = Path("kept");
  {
    auto log = MinimizeLog::Open(path, 7);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->Append(1, true, 100).ok());
    ASSERT_TRUE((*log)->Append(~std::uint64_t{0}, false, 100).ok());
    EXPECT_EQ((*log)->Find(1), true);
  }
  auto log = MinimizeLog::Open(path, 7);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ((*log)->Find(1), true);
  EXPECT_EQ((*log)->Find(~std::uint64_t{0}), false);
  EXPECT_EQ((*log)->Find(2), std::nullopt);
  const MinimizeState state = ReadMinimizeState(path);
  EXPECT_EQ(state.tries, 2u);
  EXPECT_EQ(state.since_success, 1u);
  EXPECT_EQ(state.bytes, 100u);
}

// Wherever a write was cut, what was whole stays and the next one is readable.
TEST(MinimizeLog, GoesOnWhereItWasCut) {
  const std::string path = Path("whole");
  {
    auto log = MinimizeLog::Open(path, 7);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*log)->Append(static_cast<std::uint64_t>(i), true, 50).ok());
    }
  }
  const std::string whole = *ReadFile(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string cut = Path("cut");
    std::ofstream(cut) << whole.substr(0, size);
    {
      auto log = MinimizeLog::Open(cut, 7);
      ASSERT_TRUE(log.ok()) << size << ": " << log.status();
      ASSERT_TRUE((*log)->Append(9, false, 50).ok());
    }
    auto log = MinimizeLog::Open(cut, 7);
    ASSERT_TRUE(log.ok()) << size << ": " << log.status();
    EXPECT_EQ((*log)->Find(9), false) << size;
  }
}

TEST(MinimizeLog, IsOfOneMinimisation) {
  const std::string path = Path("other");
  {
    ASSERT_TRUE(MinimizeLog::Open(path, 7).ok());
  }
  const auto other = MinimizeLog::Open(path, 8);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(other.status().message()).find(path),
            std::string::npos);
  // Somebody's own file is left as it is.
  for (const char* text : {"my notes", "my notes\n",
                           "mlafuzz minimize 1 0000000000000007\nnonsense\n"}) {
    const std::string own = Path("own");
    std::ofstream(own) << text;
    EXPECT_FALSE(MinimizeLog::Open(own, 7).ok()) << text;
    EXPECT_EQ(*ReadFile(own), text);
  }
}

TEST(MinimizeLog, NamesAFolderThatIsMissing) {
  const auto log = MinimizeLog::Open("/no/such/folder/log", 1);
  EXPECT_EQ(log.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(log.status().message()).find("/no/such/folder/log"),
            std::string::npos);
}

// A file that may not grow any more is as good as a full disk: what was there
// stays readable.
TEST(MinimizeLog, SaysWhatCannotBeWritten) {
  const std::string path = Path("full");
  auto log = MinimizeLog::Open(path, 7);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->Append(1, true, 100).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = std::filesystem::file_size(path) + 5;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status written = (*log)->Append(2, true, 100);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(written.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(written.message()).find(path), std::string::npos);
  auto again = MinimizeLog::Open(path, 7);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Find(1), true);
  EXPECT_EQ((*again)->Find(2), std::nullopt);
}

}  // namespace
}  // namespace mlafuzz
