#include "fuzz/campaign/reproducer/verify.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "fuzz/campaign/process.h"
#include "fuzz/campaign/scratch_folder.h"
#include "fuzz/campaign/signals.h"
#include "kernels/foreign/python.h"

namespace mlafuzz {
namespace {

using Clock = std::chrono::steady_clock;

// What a program needs of the environment to find its own parts.
constexpr char kPath[] =
    "PATH=/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:"
    "/usr/bin:/sbin:/bin";

// An interpreter and its numpy, in a line.
constexpr char kPythonVersion[] =
    "import sys, numpy; print('Python', sys.version.split()[0] + ', numpy', "
    "numpy.__version__)";

std::string FindProgram(std::initializer_list<const char*> names) {
  const char* path = std::getenv("PATH");
  const std::string folders =
      absl::StrCat(path == nullptr ? "" : path, ":", kPath + 5);
  for (const char* name : names) {
    for (const absl::string_view folder : absl::StrSplit(folders, ':')) {
      if (folder.empty() || folder[0] != '/') continue;
      std::string program = absl::StrCat(folder, "/", name);
      if (access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return "";
}

std::string FindCompiler(ReproducerKind kind, const std::string& interpreter) {
  if (kind == ReproducerKind::kPython) {
    return FindInterpreter(interpreter).value_or("");
  }
  return kind == ReproducerKind::kCuda ? FindProgram({"nvcc"})
                                       : FindProgram({"c++", "g++", "clang++"});
}

// How one command ended; nothing if it was stopped.
struct Ended {
  Exit exit;
  std::string output;
};

// In `folder`, with nothing of this process' environment.
absl::StatusOr<Ended> RunClean(const std::string& folder,
                               const std::vector<std::string>& command,
                               Clock::time_point until) {
  const std::string env = FindProgram({"env"});
  if (env.empty()) return absl::UnavailableError("there is no env");
  std::vector<std::string> arguments = {env,    "-i",  "-C",
                                        folder, kPath, "LC_ALL=C"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  auto process = Process::Spawn(arguments, {});
  if (!process.ok()) return process.status();
  for (;;) {
    (*process)->ReadOutput();
    if (const std::optional<Exit> exit = (*process)->Poll(); exit.has_value()) {
      (*process)->ReadOutput();
      return Ended{*exit, (*process)->output()};
    }
    if (StopSignals() > 0) return absl::CancelledError("stopped by a signal");
    if (Clock::now() >= until) return absl::CancelledError("the time was up");
    usleep(2000);
  }
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> BuildCommand(ReproducerKind kind,
                                      const std::string& compiler) {
  const std::string file = ReproducerFile(kind);
  switch (kind) {
    case ReproducerKind::kCxx:
      return {compiler, "-std=c++11", file, "-o", "repro", "-ldl"};
    case ReproducerKind::kCuda:
      return {compiler, "-std=c++20", file, "-o", "repro"};
    case ReproducerKind::kTest:
      return {compiler, "-std=c++17", file, "-lgtest", "-lgtest_main",
              "-ldl",   "-pthread",   "-o", "repro"};
    case ReproducerKind::kPython:
      break;  // nothing is built
  }
  return {};
}

}  // namespace

Verification VerifyReproducer(ReproducerKind kind, absl::string_view source,
                              Clock::time_point until,
                              const std::string& interpreter) {
  Verification result;
  const bool script = kind == ReproducerKind::kPython;
  const char* const done = script ? "run" : "built";
  const std::string compiler = FindCompiler(kind, interpreter);
  if (compiler.empty()) {
    result.words = absl::StrCat("not ", done, ": no ",
                                script                          ? "Python"
                                : kind == ReproducerKind::kCuda ? "nvcc"
                                                                : "c++",
                                " was found");
    return result;
  }
  const auto folder = ScratchFolder::Create();
  if (!folder.ok()) {
    result.words = absl::StrCat("not ", done, ": ",
                                std::string(folder.status().message()));
    return result;
  }
  const auto version =
      RunClean(folder->path(),
               script ? std::vector<std::string>{compiler, "-c", kPythonVersion}
                      : std::vector<std::string>{compiler, "--version"},
               until);
  if (version.ok()) {
    // nvcc's first line is its name, its last but one the release.
    const std::vector<std::string> lines =
        absl::StrSplit(version->output, '\n', absl::SkipEmpty());
    result.compiler = lines.empty() ? compiler
                      : kind == ReproducerKind::kCuda
                          ? absl::StrCat("nvcc, ", lines.back())
                          : FirstLine(version->output);
  }
  const absl::Status written = WriteFileAtomically(
      absl::StrCat(folder->path(), "/", ReproducerFile(kind)), source);
  if (!written.ok()) {
    result.words =
        absl::StrCat("not ", done, ": ", std::string(written.message()));
    return result;
  }
  if (!script) {
    const auto built =
        RunClean(folder->path(), BuildCommand(kind, compiler), until);
    if (!built.ok()) {
      result.words =
          absl::StrCat("not built: ", std::string(built.status().message()));
      return result;
    }
    if (built->exit.code != 0 || built->exit.signal != 0) {
      result.words = absl::StrCat("not built by ", compiler, ": ",
                                  FirstLine(built->output));
      return result;
    }
  }
  // "built with g++ 12", "run by Python 3.11".
  const std::string with =
      absl::StrCat(script ? "run by " : "built with ", result.compiler);
  const std::vector<std::string> command =
      script ? std::vector<std::string>{compiler, ReproducerFile(kind)}
             : std::vector<std::string>{"./repro"};
  for (int i = 0; i < kVerifyRuns; ++i) {
    const auto run = RunClean(folder->path(), command, until);
    if (!run.ok()) {
      result.words =
          absl::StrCat(with, "; ", std::string(run.status().message()),
                       " before it had run ", kVerifyRuns, " times");
      return result;
    }
    if (i == 0) result.output = run->output;
    // A test that could not tell fails as well.
    const bool cannot_tell = absl::StrContains(run->output, "cannot tell\n");
    if (run->exit.code == 2 || cannot_tell) {
      result.words =
          absl::StrCat(with, "; cannot tell here: ", FirstLine(run->output));
      return result;
    }
    ++result.runs;
    result.failed += run->exit.code == 1 && run->exit.signal == 0 ? 1 : 0;
  }
  result.verified = result.failed == result.runs;
  result.words = absl::StrCat(with, " in an empty folder, shows the bug in ",
                              result.failed, " of ", result.runs, " runs");
  return result;
}

}  // namespace mlafuzz
