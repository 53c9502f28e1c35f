#include "kernels/foreign/python.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mlafuzz {
namespace {

bool IsFolder(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool IsProgram(const std::string& path) {
  return !IsFolder(path) && access(path.c_str(), X_OK) == 0;
}

// Letters, digits, "_" and "." from which object names are made.
bool IsObject(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' &&
        c != '.') {
      return false;
    }
  }
  return !text.empty() && !absl::EndsWith(text, ".py");
}

}  // namespace

PythonOptions& DefaultPython() {
  static auto* options = new PythonOptions;
  return *options;
}

PythonName ParsePythonName(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != absl::string_view::npos && IsObject(text.substr(colon + 1))) {
    return {std::string(text.substr(0, colon)),
            std::string(text.substr(colon + 1))};
  }
  return {std::string(text), ""};
}

bool IsPath(const PythonName& name) {
  return absl::StrContains(name.module, '/') ||
         absl::EndsWith(name.module, ".py");
}

absl::StatusOr<std::string> FindInterpreter(const std::string& interpreter) {
  std::string wanted = interpreter;
  if (wanted.empty()) {
    const char* named = std::getenv("MLAFUZZ_PYTHON");
    wanted = named != nullptr && *named != '\0' ? named : "python3";
  }
  if (IsFolder(wanted)) {
    const std::string program = absl::StrCat(wanted, "/bin/python3");
    if (IsProgram(program)) return program;
    return absl::NotFoundError(
        absl::StrCat("--python=", wanted,
                     " is a folder without bin/python3, "
                     "so no venv; make one with `python3 -m venv ",
                     wanted, "`"));
  }
  if (absl::StrContains(wanted, '/')) {
    if (IsProgram(wanted)) return wanted;
    return absl::NotFoundError(absl::StrCat(
        "--python=", wanted,
        " is no program; name an interpreter or the folder of a venv"));
  }
  if (const char* path = std::getenv("PATH")) {
    for (const absl::string_view folder : absl::StrSplit(path, ':')) {
      std::string program = absl::StrCat(folder, "/", wanted);
      if (IsProgram(program)) return program;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      wanted,
      " is not in $PATH; name an interpreter or the folder of a venv "
      "with --python=PATH"));
}

}  // namespace mlafuzz
