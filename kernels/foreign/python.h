#ifndef MLAFUZZ_KERNELS_FOREIGN_PYTHON_H_
#define MLAFUZZ_KERNELS_FOREIGN_PYTHON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {

// Whose Python runs the modules of "python:" targets.
struct PythonOptions {
  // A program, or the folder of a venv; without a slash looked for in $PATH.
  // Empty: $MLAFUZZ_PYTHON, else python3.
  std::string interpreter;
  // Where modules are looked for beside those that are installed; empty:
  // nowhere.
  std::string folder;
};

// What MakeTargetSet() gives to its modules; to be set before.
PythonOptions& DefaultPython();

// "MODULE[:NAME]".
struct PythonName {
  std::string module;  // dotted, or the path of a .py file
  std::string object;  // in it; empty: the module itself
};
PythonName ParsePythonName(absl::string_view text);
// Whether a module is named by its path.
bool IsPath(const PythonName& name);

// The program that `interpreter` names. NotFound says what there is instead,
// and the way out.
absl::StatusOr<std::string> FindInterpreter(const std::string& interpreter);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_PYTHON_H_
