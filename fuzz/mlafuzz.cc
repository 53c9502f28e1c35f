#include <string>
#include <vector>

#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"

int main(int argc, char** argv) {
  mlafuzz::InitEnvironment(argv[0]);
  return mlafuzz::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc));
}
