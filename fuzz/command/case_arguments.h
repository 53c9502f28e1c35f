#ifndef MLAFUZZ_FUZZ_COMMAND_CASE_ARGUMENTS_H_
#define MLAFUZZ_FUZZ_COMMAND_CASE_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corpus/case.pb.h"

namespace mlafuzz {

// A case that was named on the command line.
struct NamedCase {
  std::string path;  // as shown, in one line
  Case message;
  std::size_t bytes = 0;  // of the file
};

struct CaseArguments {
  std::vector<NamedCase> cases;
  // One clear line for each thing that is no case, with a way out.
  std::vector<std::string> errors;
};

// Files, and folders with all files below them; text or binary. A case must
// also build. What is wrong with one does not keep the others back.
CaseArguments ReadCaseArguments(const std::vector<std::string>& paths);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_CASE_ARGUMENTS_H_
