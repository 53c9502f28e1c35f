#include "kernels/foreign/program_files.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace mlafuzz {
namespace {

// A file of this project that `variable` names, or that lies in the runfiles of
// this program or test, or beside it in an archive.
absl::StatusOr<std::string> FindProgram(const char* variable, const char* label,
                                        const char* missing, int access_mode) {
  std::vector<std::string> places;
  if (const char* named = std::getenv(variable)) {
    places.push_back(named);
  } else {
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const std::string program(self, n > 0 ? static_cast<std::size_t>(n) : 0);
    const absl::string_view name = label;
    places = {
        absl::StrCat(program, ".runfiles/mlafuzz/", label),
        label,
        absl::StrCat(program.substr(0, program.rfind('/')),
                     name.substr(name.rfind('/'))),
    };
    if (const char* srcdir = std::getenv("TEST_SRCDIR")) {
      places.push_back(absl::StrCat(srcdir, "/mlafuzz/", label));
    }
  }
  for (const std::string& place : places) {
    if (access(place.c_str(), access_mode) == 0) return place;
  }
  return absl::NotFoundError(absl::StrCat(missing, "; looked for ",
                                          absl::StrJoin(places, ", "),
                                          "; name it in $", variable));
}

constexpr char kNoCuda[] =
    "this build has no CUDA backend (nvcc was not found when it was built)";

}  // namespace

absl::StatusOr<std::string> FindRunner(bool device) {
  return device
             ? FindProgram("MLAFUZZ_CUDA_RUNNER", "kernels/device/runner_cuda",
                           kNoCuda, X_OK)
             : FindProgram("MLAFUZZ_RUNNER", "kernels/foreign/runner",
                           "the runner of foreign targets is not there", X_OK);
}

absl::StatusOr<std::string> FindPythonRunner() {
  return FindProgram("MLAFUZZ_PYTHON_RUNNER", "kernels/python/runner.py",
                     "the runner of Python modules is not there", R_OK);
}

absl::StatusOr<std::string> FindLender() {
  return FindProgram("MLAFUZZ_CUDA_LENDER", "properties/fused/device/lender.so",
                     kNoCuda, R_OK);
}

}  // namespace mlafuzz
