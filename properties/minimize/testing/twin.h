#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_TWIN_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_TWIN_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "corpus/case.pb.h"
#include "kernels/executor.h"
#include "kernels/target_set.h"
#include "properties/generate.h"
#include "properties/minimize/minimize.h"

namespace mlafuzz {

// A wrong target with a test for its cause, as a campaign uses it.
class Twin {
 public:
  explicit Twin(const std::string& name);

  // The cause of the first failure; empty if there is none. " (outside)"
  // behind it where the fault does not show within the tensors: a case in which
  // it does is the better one.
  std::string CauseOf(const Case& c);

  // The cause of the first failure of what is generated from seed 0 on, that
  // begins so.
  std::string FirstCause(const GeneratorOptions& options,
                         absl::string_view begins = "");

  // A case with that cause in it that is as rich as generated ones get: the
  // largest of the first `failures` that fail.
  Case RichFailure(const std::string& cause, int failures,
                   const GeneratorOptions& options = {});

  Case Minimal(const std::string& cause, const Case& c,
               MinimizeProgress* progress = nullptr,
               const MinimizeOptions& options = {.max_seconds = 120});

 private:
  TargetSet targets_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_TESTING_TWIN_H_
