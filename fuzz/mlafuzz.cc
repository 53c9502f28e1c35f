#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"

namespace {

// A closed descriptor would be given to the next file that is opened, and what
// is printed would go there.
void OpenStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) (void)open("/dev/null", O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardFiles();
  // What a limit on file sizes cuts off is a write that fails (EFBIG).
  std::signal(SIGXFSZ, SIG_IGN);
  mlafuzz::InitEnvironment(argv[0]);
  return mlafuzz::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc));
}
