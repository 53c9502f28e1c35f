#ifndef MLAFUZZ_KERNELS_FOREIGN_FOREIGN_TARGET_H_
#define MLAFUZZ_KERNELS_FOREIGN_FOREIGN_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/foreign/description.pb.h"
#include "kernels/foreign/library_file.h"
#include "kernels/foreign/python.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Where the kernels of a target run.
struct Backend {
  bool cuda = false;  // else this machine's processors
  int device = 0;     // as CUDA counts
  // Where the unmapped memory next to each buffer is: "before", "behind", or as
  // the case's schedule says.
  std::string guard = "schedule";
  // A tool of compute-sanitizer under which the kernels run; empty: none.
  std::string sanitizer;
};

// The GPU that MakeTargetSet() takes for "cuda:" targets; to be set before.
Backend& DefaultCudaBackend();

// The GPU of `backend` in words, "NVIDIA H200 (sm_90), driver ..."; asked once.
// An error that says what is missing if kernels cannot run there.
absl::StatusOr<std::string> DescribeDevice(const Backend& backend);

// Kernels that run in a process of their own: those of a shared library or a
// Python module, and on a GPU also those that are compiled in. Runs only
// through an executor that knows processes (MakeExecutor of
// kernels/foreign/executor.h): called directly, it answers with an error.
class ForeignTarget : public Target {
 public:
  // Loads the library in a runner once, to read its description.
  // InvalidArgument naming the library, and for a description the unknown field
  // or value, if it cannot be attached.
  static absl::StatusOr<std::shared_ptr<ForeignTarget>> Load(
      absl::string_view path, const RunnerLimits& limits,
      const Backend& backend = Backend());
  // The same for a module of Python, "MODULE[:NAME]". On a GPU its runner
  // allocates device memory itself.
  static absl::StatusOr<std::shared_ptr<ForeignTarget>> LoadPython(
      absl::string_view module, const PythonOptions& python,
      const RunnerLimits& limits, const Backend& backend = Backend());
  // A target that is compiled in, on the GPU of `backend`. `name`: without
  // "cuda:". An error that says why if there is no such GPU.
  static absl::StatusOr<std::shared_ptr<ForeignTarget>> Compiled(
      const Target& target, const RunnerLimits& limits, const Backend& backend);

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return description_.contract(); }
  const Arithmetic& arithmetic() const override {
    return description_.contract().arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return (implements_ >> static_cast<int>(kernel) & 1) != 0;
  }
  const ForeignTarget* foreign() const override { return this; }

  const RunnerProgram& program() const { return program_; }
  // In words; empty: this machine's processors.
  const std::string& device() const { return device_; }
  // As it was before it was loaded (of a module: just after); without a path
  // for what is compiled in.
  const LibraryFile& file() const { return file_; }
  const RunnerLimits& limits() const { return limits_; }
  // Every field of the contract is set.
  const TargetDescription& description() const { return description_; }

 private:
  ForeignTarget() = default;
  // Starts the program, and takes over what it says of itself.
  absl::Status Attach(const Backend& backend);

  std::string name_;
  RunnerProgram program_;
  std::string device_;
  LibraryFile file_;
  RunnerLimits limits_;
  std::uint32_t implements_ = 0;
  TargetDescription description_;
};

// Parses a description; an unknown field or value is an error that names it.
// Fills the contract's defaults in, but for host_checks: only what is listed is
// refused.
absl::StatusOr<TargetDescription> ParseDescription(absl::string_view text);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_FOREIGN_TARGET_H_
