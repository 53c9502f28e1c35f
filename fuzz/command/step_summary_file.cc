#include "fuzz/command/step_summary_file.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace mlafuzz {

void AppendStepSummary(absl::string_view markdown) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') return;
  std::ofstream summary(path, std::ios::app);
  summary << markdown << "\n";
  if (!summary.flush()) {
    std::printf("note: cannot append to GITHUB_STEP_SUMMARY, %s\n", path);
  }
}

}  // namespace mlafuzz
