#include "fuzz/campaign/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "gtest/gtest.h"

namespace mlafuzz {
namespace {

std::unique_ptr<Process> Shell(const std::string& script) {
  auto process =
      Process::Spawn({"/bin/sh", "-c", script}, {{"GREETING", "hello"}});
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

Exit WaitFor(Process& process) {
  std::optional<Exit> exit;
  while (!(exit = process.Poll()).has_value()) usleep(1000);
  return *exit;
}

TEST(Process, OutputEnvironmentAndExitCode) {
  auto process = Shell("echo $GREETING; echo there >&2; exit 7");
  const Exit exit = WaitFor(*process);
  EXPECT_EQ(exit.code, 7);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_EQ(process->output(), "hello\nthere\n");
}

TEST(Process, ASignalIsToldFromAnExit) {
  auto process = Shell("kill -SEGV $$");
  EXPECT_EQ(WaitFor(*process).signal, SIGSEGV);
}

TEST(Process, LongOutputKeepsItsEnd) {
  auto process = Shell("yes 0123456789 | head -c 1000000; echo the end");
  while (!process->Poll().has_value()) {
    process->ReadOutput();
    usleep(1000);
  }
  EXPECT_LE(process->output().size(), 2 * Process::kKeptOutput);
  EXPECT_NE(process->output().find("the end"), std::string::npos);
}

TEST(Process, GrandchildrenDieWithTheGroup) {
  auto process = Shell("sleep 1000 & echo $!; wait");
  while (process->output().empty()) {
    process->ReadOutput();
    usleep(1000);
  }
  const pid_t grandchild = std::stoi(process->output());
  ASSERT_EQ(kill(grandchild, 0), 0);
  process.reset();
  // Gone, or a zombie that nobody reaped.
  for (int i = 0; i < 2000; ++i) {
    if (kill(grandchild, 0) != 0 && errno == ESRCH) return;
    std::string state = "?";
    if (FILE* f = fopen(
            ("/proc/" + std::to_string(grandchild) + "/stat").c_str(), "r")) {
      char buffer[256] = {};
      if (fgets(buffer, sizeof(buffer), f) != nullptr) state = buffer;
      fclose(f);
    }
    if (state.find(") Z") != std::string::npos) return;
    usleep(1000);
  }
  FAIL() << "process " << grandchild << " is still there";
}

TEST(Process, AMissingProgramIsNamed) {
  const auto process = Process::Spawn({"/nonexistent/engine"}, {});
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.status().message().find("/nonexistent/engine"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace mlafuzz
