#ifndef MLAFUZZ_KERNELS_FOREIGN_FOREIGN_TARGET_H_
#define MLAFUZZ_KERNELS_FOREIGN_FOREIGN_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/foreign/description.pb.h"
#include "kernels/foreign/library_file.h"
#include "kernels/foreign/runner_process.h"
#include "kernels/target_set.h"

namespace mlafuzz {

// Kernels in a shared library. Runs only through an executor that knows
// processes (MakeExecutor of kernels/foreign/executor.h): called directly, it
// answers with an error.
class ForeignTarget : public Target {
 public:
  // Loads the library in a runner once, to read its description.
  // InvalidArgument naming the library, and for a description the unknown field
  // or value, if it cannot be attached.
  static absl::StatusOr<std::shared_ptr<ForeignTarget>> Load(
      absl::string_view path, const RunnerLimits& limits);

  const std::string& name() const override { return name_; }
  const Contract& contract() const override { return description_.contract(); }
  const Arithmetic& arithmetic() const override {
    return description_.contract().arithmetic();
  }
  bool Implements(Kernel kernel) const override {
    return (implements_ >> static_cast<int>(kernel) & 1) != 0;
  }
  const ForeignTarget* foreign() const override { return this; }

  const std::string& path() const { return path_; }
  // As it was before it was loaded.
  const LibraryFile& file() const { return file_; }
  const RunnerLimits& limits() const { return limits_; }
  // Every field of the contract is set.
  const TargetDescription& description() const { return description_; }

 private:
  ForeignTarget() = default;

  std::string name_;
  std::string path_;
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
