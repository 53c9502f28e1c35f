#include "fuzz/command/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "fuzz/command/arguments.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace mlafuzz {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;

std::string* program = nullptr;

const Runfiles* GetRunfiles() {
  static const Runfiles* runfiles = []() -> const Runfiles* {
    std::string error;
    if (Runfiles* found = Runfiles::Create(*program, &error)) return found;
    // Started through a symlink, or found in $PATH: look beside the real file.
    std::error_code ignored;
    return Runfiles::Create(
        std::filesystem::read_symlink("/proc/self/exe", ignored).string(),
        &error);
  }();
  return runfiles;
}

// A file that comes with this program; empty if it does not.
std::string Carried(const std::string& path) {
  if (GetRunfiles() == nullptr) return "";
  const std::string found = GetRunfiles()->Rlocation("mlafuzz/" + path);
  std::error_code ignored;
  if (found.empty() || !std::filesystem::exists(found, ignored)) return "";
  return std::filesystem::absolute(found, ignored).string();
}

std::string CallersFolder() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr) return folder;
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

absl::StatusOr<std::string> FlavourFile(const char* prefix,
                                        absl::string_view flavour) {
  const std::vector<std::string> known = {"asan+ubsan", "plain", "race"};
  const std::string name = flavour.empty() ? known[0] : std::string(flavour);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string near = Nearest(name, known);
    return absl::InvalidArgumentError(
        absl::StrCat("unknown flavour \"", name, "\"; ",
                     near.empty() ? "known: asan+ubsan, plain, race"
                                  : absl::StrCat("nearest: ", near)));
  }
  const std::string path =
      absl::StrCat("fuzz/", prefix, absl::StrReplaceAll(name, {{"+", "_"}}));
  const std::string found = Carried(path);
  if (found.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "the engine ", path,
        " is not among this program's files; start it with `bazel run "
        "//:mlafuzz -- ...`"));
  }
  return found;
}

}  // namespace

void InitEnvironment(const char* argv0) {
  program = new std::string(argv0);
  // For the engines too.
  const std::string runner = Carried("kernels/foreign/runner");
  if (!runner.empty()) setenv("MLAFUZZ_RUNNER", runner.c_str(), 0);
  const std::string python = Carried("kernels/python/runner.py");
  if (!python.empty()) setenv("MLAFUZZ_PYTHON_RUNNER", python.c_str(), 0);
  const std::string cuda = Carried("kernels/device/runner_cuda");
  if (!cuda.empty()) setenv("MLAFUZZ_CUDA_RUNNER", cuda.c_str(), 0);
  const std::string lender = Carried("properties/fused/device/lender.so");
  if (!lender.empty()) setenv("MLAFUZZ_CUDA_LENDER", lender.c_str(), 0);
}

std::string CallersPath(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(CallersFolder()) / path)
      .lexically_normal()
      .string();
}

std::string ShownPath(const std::string& path) {
  const std::string folder = CallersFolder() + "/";
  return absl::StartsWith(path, folder) ? path.substr(folder.size()) : path;
}

absl::Status CanWriteFile(absl::string_view flag, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, ": ", ShownPath(path), " is a folder; name a file"));
  }
  const std::string parent = fs::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat("--", flag, ": ", ShownPath(folder),
                                            " is not a folder; make it, or "
                                            "name another file"));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "--", flag, ": nothing can be written into ", ShownPath(folder), ": ",
        std::strerror(errno), "; name another file"));
  }
  return absl::OkStatus();
}

std::string ProgramCommand() {
  if (std::getenv("BUILD_WORKSPACE_DIRECTORY") != nullptr) {
    return "bazel run //:mlafuzz --";
  }
  return ShellWord(*program);
}

absl::StatusOr<Engine> FindEngine(absl::string_view flavour) {
  // For tests of this program: another engine binary.
  const char* other = std::getenv("MLAFUZZ_TEST_ENGINE");
  const std::string name =
      flavour.empty() ? "asan+ubsan" : std::string(flavour);
  if (other != nullptr) return Engine{other, name};
  const auto path = FlavourFile("engine__", flavour);
  if (!path.ok()) return path.status();
  return Engine{*path, name};
}

absl::StatusOr<std::string> FindEmptyTarget(absl::string_view flavour) {
  return FlavourFile("bench/empty__", flavour);
}

std::string StaleGraphLibrary() {
  return Carried("kernels/device/testing/stale_graph.so");
}

std::string FaultLibrary() {
  return Carried("kernels/device/testing/faults.so");
}

absl::StatusOr<std::string> BaselineProgram() {
  // For tests of this program: another one.
  const char* other = std::getenv("MLAFUZZ_TEST_BASELINES");
  const std::string found =
      other != nullptr ? other : Carried("baselines/run_baseline");
  if (found.empty()) {
    return absl::UnavailableError(
        "baselines/run_baseline is not among this program's files; leave out "
        "--baselines");
  }
  return found;
}

absl::StatusOr<std::string> StoredCases(Layout layout) {
  const std::string folder =
      layout == FP8_DS_MLA ? "corpus/small" : "corpus/layouts";
  const std::string found = Carried(folder);
  if (found.empty()) {
    return absl::UnavailableError(
        absl::StrCat("the stored cases (", folder,
                     ") are not among this program's files; "
                     "give some with --corpus=DIR"));
  }
  return found;
}

}  // namespace mlafuzz
