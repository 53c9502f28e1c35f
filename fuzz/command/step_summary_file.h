#ifndef MLAFUZZ_FUZZ_COMMAND_STEP_SUMMARY_FILE_H_
#define MLAFUZZ_FUZZ_COMMAND_STEP_SUMMARY_FILE_H_

#include "absl/strings/string_view.h"

namespace mlafuzz {

// A job of GitHub Actions shows what is appended to the file that
// GITHUB_STEP_SUMMARY names. Elsewhere nothing happens; where it cannot be
// written a note says so.
void AppendStepSummary(absl::string_view markdown);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_STEP_SUMMARY_FILE_H_
